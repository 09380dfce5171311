# Thin front of CMake. The two commands for newcomers: make demo, make check (both install what is missing first).
BUILD ?= build
JOBS  ?= $(shell nproc)
T     ?= .
GOLDENS ?= $(realpath ../shared/goldens)
CMAKE_FLAGS ?=
CTEST = ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -R '$(T)'

export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

.PHONY: all configure demo check clients check-long bench lint fmt fuzz docs install clean
all: configure
	@cmake --build $(BUILD) -j $(JOBS) --target vllmc
	@echo "$(BUILD)/vllmc is ready"

configure: tools/setup
	@tools/setup build
	@[ -f $(BUILD)/build.ninja ] || cmake -S . -B $(BUILD) -G Ninja -DCMAKE_C_COMPILER_LAUNCHER=ccache $(CMAKE_FLAGS) >/dev/null

demo: all
	@model=$$(tools/get-model smollm2) && set -x && $(BUILD)/vllmc run "$$model" --chat --temperature 0 -n 64 -p "Name three primary colors."

# Every test but those labelled long; check-long runs those, and the kernels on AArch64 under emulation. T=name runs the tests whose names match.
check:
	@tools/setup check
	@$(MAKE) -s configure
	@cmake -S . -B $(BUILD) -DVLLMC_GOLDENS="$(GOLDENS)" >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)
	@tools/get-model smollm2 >/dev/null || echo "left out: tests on SmolLM2 (it could not be fetched)"
	@tools/get-model gemma3 >/dev/null || echo "left out: tests on Gemma 3 (it could not be fetched)"
	@tools/get-model smollm2-bf16 >/dev/null || echo "left out: tests on SmolLM2 in bf16"
	@$(CTEST) -LE long

clients:
	@tools/setup check
	@tools/get-clients >/dev/null || echo "left out: clients of the server (they could not be installed)"

check-long: T = .
check-long: clients check
	@tools/check-aarch64 $(BUILD)/aarch64
	@$(CTEST) -L long

bench: all
	@cmake --build $(BUILD) -j $(JOBS) --target bench
	@model=$$(tools/get-model smollm2) && $(BUILD)/vllmc bench "$$model" -p 512 -n 128 -c 1,8,32

lint:
	@tools/setup lint
	@$(MAKE) -s configure
	@tools/lint $(BUILD)

fmt:
	@tools/setup lint
	@git ls-files '*.c' '*.h' | xargs clang-format-14 -i

fuzz:
	@tools/setup lint
	@tools/fuzz

docs: all
	@tools/make-docs $(BUILD)

install: all
	@cmake --install $(BUILD)

clean:
	rm -rf $(BUILD)
