# SPDX-License-Identifier: Apache-2.0
"""A small GGUF model for longer texts: a copy whose header says another context length (the weights do not depend on it)."""
import os, struct


def copy(model, folder, context):
    with open(model, "rb") as f:
        data = bytearray(f.read())
    at = data.index(b".context_length") + len(b".context_length")
    assert data[at:at + 4] == struct.pack("<I", 4), "context_length is no 32-bit number"
    data[at + 4:at + 8] = struct.pack("<I", context)
    path = os.path.join(folder, "long.gguf")
    with open(path, "wb") as f:
        f.write(data)
    return path
