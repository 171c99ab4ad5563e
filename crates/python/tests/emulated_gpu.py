"""Graphs of PyTorch's on an emulated GPU, which PyTorch itself has no tensors on: partitions get tensors of zerostride's there,
and PyTorch's own nodes run on the CPU. ``ZEROSTRIDE_CUDA`` names the emulated driver."""

import operator
import os

import torch
import zerostride as zs
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_map
from zerostride.torch import _partition, _support
from zerostride.torch._plan import Partition

IS_THERE = "emulator" in os.environ.get("ZEROSTRIDE_CUDA", "")


def moved(module):
    """The same graph of tensors on a GPU, which need not be there: its values have no elements."""
    values = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    with torch._guards.detect_fake_mode(values):
        to_gpu = lambda value: torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
        values = tree_map(lambda value: to_gpu(value) if isinstance(value, torch.Tensor) else value, values)
        return make_fx(_Moving(module).run)(*values)


class _Moving(torch.fx.Interpreter):
    def call_function(self, target, args, kwargs):
        return super().call_function(target, args, kwargs | ({"device": torch.device("cuda")} if kwargs.get("device") else {}))

    def get_attr(self, target, args, kwargs):
        raise RuntimeError("tensors of the graph itself are on the CPU")


def divide(module, record):
    """A graph of tensors on the CPU as a function of a list of these, which runs it on the emulated GPU."""
    divided = moved(module)
    divided.graph.eliminate_dead_code()
    divided = _Running(_partition.divide(divided, record))
    return lambda values: tree_map(_back, divided.boxed_run(tree_map(_there, list(values))))


class _Running(torch.fx.Interpreter):
    def call_function(self, target, args, kwargs):
        if target is operator.getitem or isinstance(target, Partition):
            return super().call_function(target, args, kwargs)
        kwargs = kwargs | ({"device": torch.device("cpu")} if kwargs.get("device") else {})
        return tree_map(_there, target(*tree_map(_back, args), **tree_map(_back, kwargs)))


def _there(value):
    has_dtype = isinstance(value, torch.Tensor) and (value.dtype in _support.DTYPES or value.dtype in _COMPLEX)
    return zs.asarray(value.detach().clone()).cuda() if has_dtype else value


_COMPLEX = (torch.complex64, torch.complex128)


def _back(value):
    if not isinstance(value, zs.Tensor):
        return value
    assert value.device == "cuda:0"
    return torch.from_dlpack(value.cpu())
