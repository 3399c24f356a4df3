"""torchrl's prioritised replay, as it can be loaded here: the oracle of ours."""

import os
import sys
from importlib import import_module
from types import ModuleType

import torch


def load() -> ModuleType:
    """The samplers of torchrl with their segment trees.

    The wheel of torchrl 0.14 was built beside torch 2.14, and our torch (2.13, for dgl) lacks one
    function that it names.  No segment tree calls it, so it may stay unresolved: functions are
    looked up when they are called, unless the interpreter asks for all of them at once.
    """
    assert torch.__version__
    flags = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        import_module("torchrl._torchrl")
    finally:
        sys.setdlopenflags(flags)
    return import_module("torchrl.data")
