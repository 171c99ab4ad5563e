"""Owns which nodes of a graph the engine can run: it calls the table's row of each node on traced arrays of the graph's shapes
and dtypes, and compares the result's. It does not know which nodes run together (``_partition.py``)."""

import contextlib
import operator
from typing import NamedTuple

import torch
import torch.fx.traceback
from torch.fx.experimental.proxy_tensor import make_fx

import zerostride as zs

from .. import _zerostride
from . import _table

_NAMES = """bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64""".split()
DTYPES = {getattr(torch, name): getattr(zs, name) for name in _NAMES}


class Call(NamedTuple):
    """How the engine computes a node."""

    function: object
    arguments: tuple
    named: dict
    # Whether it is a view, a copy or a constant; whether it is a constant.
    arranges: bool
    is_constant: bool


def device(graph):
    """Where the engine runs what it runs of a graph: on the GPU of the first tensor that is on one, else on the CPU."""
    devices = (tensor.device for node in graph.nodes for tensor in _tensors(node))
    return next((device for device in devices if device.type == "cuda"), torch.device("cpu"))


def support(graph):
    """For each node of a graph the ``Call`` that computes it, or, as text, why the engine does not."""
    found, own = {node: _call(node) for node in graph.nodes}, device(graph)

    def trace(seed):
        for node, call in found.items():
            if isinstance(call, Call):
                reason = _elsewhere(node, call, own) or _difference(node, call, seed)
                if reason is not None:
                    found[node] = reason

    # Tracing calls the function with arrays without elements, and computes nothing.
    _zerostride.Fused(trace).plan(zs.tensor(0))
    for node, call in found.items():
        if node.target is operator.getitem and isinstance(call, Call):
            # One of several results is computed where they are.
            source = found[node.args[0]]
            found[node] = call if isinstance(source, Call) else source
    return found


def has_formulas(graph, found):
    """Whether the table has the formula of each operation that the engine cannot run itself. A constant of the graph would
    lose its place."""
    if any(node.op == "get_attr" for node in graph.nodes):
        return False
    others = (node.target for node in graph.nodes if node.op == "call_function" and not isinstance(found[node], Call))
    others = [target for target in others if target is not operator.getitem]
    return all(isinstance(target, torch._ops.OpOverload) and _table.name(target)[0] in _table.DECOMPOSED for target in others)


def opened(module):
    """A graph with formulas in place of the operations that have some."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    (output,) = (node for node in module.graph.nodes if node.op == "output")

    def run(*values):
        return torch.utils._pytree.tree_map(_in_order, torch.fx.Interpreter(module).run(*values), output.args[0])

    values = [node.meta["val"] for node in inputs]
    # In the mode of these values the constants of formulas are such, too.
    mode = torch._guards.detect_fake_mode(values) or contextlib.nullcontext()
    with torch.fx.traceback.preserve_node_meta(), mode:
        traced = make_fx(run, decomposition_table=_table.decompositions())(*values)
    for node, own in zip(inputs, traced.graph.nodes, strict=False):
        own.target = node.target  # By it the gradients are known that a backward graph is given.
    traced.graph.eliminate_dead_code()
    return traced


def _in_order(result, node):
    """A result of a formula in the order of the operation's in memory: PyTorch's kernels make some row-major, as softmax,
    of operands that are not."""
    if not isinstance(result, torch.Tensor) or not node.meta["val"].is_contiguous() or result.is_contiguous():
        return result
    return result.clone(memory_format=torch.contiguous_format)


def _call(node):
    if node.op != "call_function":
        return node.op
    if any(dtype.is_complex for dtype in _dtypes(node)):
        return "complex numbers"
    if node.target is operator.getitem and isinstance(node.args[0], torch.fx.Node) and isinstance(node.args[1], int):
        return Call(operator.getitem, node.args, {}, False, False)
    if not isinstance(node.target, torch._ops.OpOverload):
        return "computes sizes" if not list(_tensors(node)) else "no aten operation"
    found = _table.row(node.target)
    if found is None:
        has_formula = _table.name(node.target)[0] in _table.DECOMPOSED
        return "PyTorch's kernel is faster" if has_formula else "no row in the table"
    named = arguments_of(node)
    if found.is_constant:
        named |= {"dtype": node.meta["val"].dtype, "device": str(node.meta["val"].device)}
    if "dtype" in named:
        named["dtype"] = DTYPES.get(named["dtype"])
    return Call(found.function, (), named, found.arranges, found.is_constant)


def arguments_of(node):
    """The arguments of a node by aten's names, ``self`` as ``input``, without those that are ``None``."""
    schema = [argument.name for argument in node.target._schema.arguments]
    named = dict(zip(schema, node.args, strict=False)) | node.kwargs
    return {"input" if name == "self" else name: value for name, value in named.items() if value is not None}


def _tensors(node):
    value = node.meta.get("val")
    for value in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(value, torch.Tensor):
            yield value


def _dtypes(node):
    for part in (node, *node.all_input_nodes):
        for tensor in _tensors(part):
            yield tensor.dtype


def _elsewhere(node, call, own):
    """Why a node is not computed on the graph's ``own`` device; ``None`` if it is."""
    for tensor in _tensors(node):
        if tensor.device != own and not (call.is_constant and _is_number(tensor)):
            return f"is on {tensor.device}"
    read = [] if call.is_constant else [tensor for source in node.all_input_nodes for tensor in _tensors(source)]
    for tensor in read:
        if tensor.device != own and not _is_number(tensor):
            return f"reads a tensor on {tensor.device}"
    if read and all(tensor.device != own for tensor in read):
        return f"moves elements to {own}"
    if own.type == "cuda" and call.function in _table.ON_CPU:
        return "has no kernel for GPUs"
    return None


def _is_number(tensor):
    """Whether a tensor may be on the CPU beside tensors on a GPU."""
    return tensor.device.type == "cpu" and tensor.ndim == 0


def _difference(node, call, seed):
    """Why a call does not compute a node; ``None`` if it does."""
    for part in (node, *node.all_input_nodes):
        for tensor in _tensors(part):
            if tensor.layout is not torch.strided or tensor.is_nested:
                return "is not a strided tensor"
            if tensor.dtype not in DTYPES:
                return f"elements of {tensor.dtype}"
    if not list(_tensors(node)):
        return "computes sizes"
    try:
        wanted = _stand_in(node.meta["val"], seed)
        stand_in = lambda argument: _stand_in(argument.meta["val"], seed)
        arguments, named = torch.fx.map_arg(call.arguments, stand_in), torch.fx.map_arg(call.named, stand_in)
        # Shapes and dtypes are the same on each device, and there may be none yet.
        named = named | {"device": "cpu"} if call.is_constant else named
        result = call.function(*arguments, **named)
    except (_Unknown, RuntimeError, TypeError, ValueError, NotImplementedError, IndexError, OverflowError) as error:
        return str(error).partition("\n")[0]
    several = isinstance(wanted, tuple)
    for one, other in zip(result, wanted, strict=True) if several else ((result, wanted),):
        if not isinstance(one, (zs.Expr, zs.Tensor)) or (one.dtype, tuple(one.shape)) != (other.dtype, tuple(other.shape)):
            return f"the table's row gives {one!r}, not {other!r}"
    return None


class _Unknown(Exception):
    """A size or number that is only known when the graph runs."""


def _stand_in(value, seed):
    """A traced array, or a number, as a value of the graph."""
    if isinstance(value, (tuple, list)):
        return tuple(_stand_in(part, seed) for part in value)
    if isinstance(value, torch.Tensor):
        return seed.to(DTYPES[value.dtype]).expand([hint(size) for size in value.shape])
    if isinstance(value, (torch.SymInt, int)):
        return hint(value)
    raise _Unknown("depends on a number that is not known when the graph is compiled")


def hint(size):
    """A size, or the size that a symbol stands for in the call that is compiled for."""
    if isinstance(size, int):
        return size
    found = size.node.hint
    if found is None:
        raise _Unknown("a size depends on elements")
    return int(found)
