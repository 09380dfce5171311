# SPDX-License-Identifier: Apache-2.0
"""Where the clients of tests are: in the environment that tools/get-clients has made, if there is one, else in that of the
Python which runs."""
import os, sys

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vllmc")


def enter():
    """Starts the script again with the Python of that environment, unless it runs in an environment already."""
    folder = os.path.join(CACHE, "clients")
    python = os.path.join(folder, "bin", "python3")
    if sys.prefix == sys.base_prefix and os.path.exists(os.path.join(folder, "wanted")) and os.path.exists(python):
        os.execv(python, [python] + sys.argv)


def path():
    """A PATH with the programs of this environment and of vLLM's first, and those of VLLMC_TEST_TOOLS before them."""
    folders = [os.environ.get("VLLMC_TEST_TOOLS"), os.path.dirname(sys.executable), os.path.join(CACHE, "clients-vllm", "bin")]
    return os.pathsep.join(filter(None, folders + [os.environ["PATH"]]))
