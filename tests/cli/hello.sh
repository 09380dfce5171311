#!/bin/sh
# The example runs on a real model, where there is one. usage: hello.sh PROGRAM
set -eu
model=${VLLMC_TEST_MODELS:-$HOME/.cache/vllmc/models}/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -f "$model" ]; then
    echo "left out: $model (not on this machine)"
    exit 0
fi
"$1" "$model" "The capital of France is" | grep "^The capital of France is Paris"
