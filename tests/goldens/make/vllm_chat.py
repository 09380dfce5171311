# SPDX-License-Identifier: Apache-2.0
"""vLLM's own chat code (renderers/chat_utils.py, renderers/hf.py) loaded from a source folder without vLLM's other
modules, which are replaced by empty ones. Needs jinja2, transformers, openai, pydantic, openai_harmony and Pillow."""
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import types
from pathlib import Path


class Anything:
    """Stands for every class, function and decorator of the modules that are left out."""

    def __init__(self, *a, **k): pass
    def __call__(self, *a, **k): return a[0] if len(a) == 1 and callable(a[0]) and not k else Anything()
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()
    def __class_getitem__(cls, item): return cls
    def __getitem__(self, item): return self
    def __iter__(self): return iter(())
    def __or__(self, other): return self
    def __ror__(self, other): return self
    def __mro_entries__(self, bases): return (object,)


class VLLMValidationError(ValueError):
    def __init__(self, message, *, parameter=None, value=None):
        super().__init__(message)
        self.parameter = parameter


class Empty(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("vllm", "torch", "torchvision", "regex", "msgspec", "cachetools"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        m = Empty(spec.name)
        if spec.name == "vllm.logger":
            import logging
            log = logging.getLogger("vllm")
            log.disabled = True
            for n in ("info_once", "warning_once", "debug_once"):
                setattr(logging.Logger, n, lambda self, *a, **k: None)
            m.init_logger = lambda name: log
        if spec.name == "vllm.exceptions":
            m.VLLMValidationError = VLLMValidationError
        return m

    def exec_module(self, module): pass


def load(vllm_dir):
    """(chat_utils, hf) of the vLLM sources under vllm_dir."""
    sys.meta_path.insert(0, Finder())
    out = []
    for name in ("chat_utils", "hf"):
        full = "vllm.renderers." + name
        spec = importlib.util.spec_from_file_location(full, Path(vllm_dir) / "renderers" / (name + ".py"))
        m = importlib.util.module_from_spec(spec)
        sys.modules[full] = m
        spec.loader.exec_module(m)
        out.append(m)
    return out


def dump_lines(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        for r in rows:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")
