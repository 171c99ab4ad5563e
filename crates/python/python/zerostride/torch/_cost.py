"""Owns what nodes cost in the engine and in PyTorch: which of them, and which groups, are faster where. On a GPU it counts
kernels.

It does not know how a graph is divided (``_partition.py``).

Nanoseconds on one thread, f32, torch 2.15. Elements, and what surrounds them where a graph is ``ALONE``, were
measured on 2 cores of an x86-64 machine with AVX-512 (Zen 4), 2026-11-27: ``bench/torch_models.py operations``
measures elements, each the shortest of three runs. What surrounds them ``AMONG`` other operations was fitted,
on 2 cores with AVX2 (Zen 3), 2026-11-26, to 200 groups of nodes inside of steps of models, run in turn by the
engine and by PyTorch, beside other work. What counts is the difference of both sides, which other machines
share as far as both libraries use their vectors.
"""

import functools
import math
import operator
from typing import NamedTuple

import torch

from . import _table
from ._support import arguments_of, hint

ALWAYS = False
"""Whether all that the engine can run runs there, whatever it costs, as in tests."""



class Calls(NamedTuple):
    """What surrounds elements."""

    # One of PyTorch's operations; a view.
    call: int
    view: int
    # A partition; each tensor that goes in or comes out; each reduction in it.
    partition: int
    tensor: int
    reduction: int
    # An element of a reduction that keeps the innermost dimension, such as the gradient of a bias.
    column: float
    # Reading or writing a byte of values in cache, and of those that are too large for that.
    byte: float
    far_byte: float
    # What computing elements counts.
    computed: int = 1


AMONG = Calls(call=10_000, view=5_000, partition=15_000, tensor=10_000, reduction=30_000, column=0.4, byte=0.05, far_byte=0.15)
"""Between operations of a model, which leave neither code nor values in the caches, and keep memory. A byte is
0.02 in memory that was just freed (0.045 from 16 MiB) and 0.2 to 0.35 in PyTorch's new memory, which what a
backward pass needs takes in each step; steps of models have both, and were measured at 0.06 to 0.1 for values
of 400 KB."""

ALONE = Calls(call=1_500, view=700, partition=1_500, tensor=300, reduction=300, column=0.02, byte=0.01, far_byte=0.02)
"""Where the engine can run all of a graph: a formula, whose calls often come in a loop of their own."""

WHOLE = ALONE._replace(partition=0)
"""Where it does, in one partition: what AOTAutograd does in each call is left out (``_backend.py``)."""

GPU = Calls(call=1, view=0, partition=1, tensor=0, reduction=0, column=0, byte=0, far_byte=0, computed=0)
"""On a GPU, where no times are known: a partition is taken for one kernel, and what gains is a partition of several operations."""


def surroundings(device, calls):
    """What surrounds elements on a device, where ``calls`` do on the CPU."""
    return calls if device.type == "cpu" else GPU


_ROW = 15
"""Of each row that softmax and layer norm pass over."""

_REPEATED = 1
"""Of each element that PyTorch reads from an operand that is expanded along the innermost dimension."""

_NEAR_BYTES = 1 << 21
"""The largest value that is in cache where it is read."""

_PASS = 0.04
"""Of an element that a simple operation computes."""

# An element of other operations: in PyTorch, in the engine, less what ``neg`` takes there (``mul`` for two
# operands, half of ``neg`` for reductions), plus ``_PASS``. ``native_dropout_backward`` is what it takes
# between a model's operations, operations of several results are the sum of their parts, ``where`` is that of
# masks in long runs, and ``_cdist_forward`` was not measured again.
_ELEMENT = {
    "_cdist_forward": (1, 0.5), "acos": (1.15, 0.4), "argmax": (0.75, 0.1), "argmin": (0.75, 0.1), "asin": (1.15, 0.35),
    "atan": (1.95, 0.45), "atan2": (0.85, 0.5), "cos": (1.05, 0.35), "cosh": (5.4, 0.35), "digamma": (7.9, 9.4),
    "eq": (0.45, 0.05), "erf": (0.95, 0.55), "erfc": (1.3, 0.75), "erfinv": (1.45, 11), "exp": (0.55, 0.1),
    "exp2": (0.15, 0.07), "expm1": (0.65, 0.35), "fmod": (0.75, 0.1), "gelu": (0.25, 0.85), "lgamma": (3.8, 6.8),
    "linalg_vector_norm": (0.1, 0.2), "log": (0.7, 0.15), "log10": (0.8, 0.2), "log1p": (0.45, 0.3), "log2": (0.75, 0.2),
    "logaddexp": (1, 2.2), "_log_softmax": (0.35, 0.4), "logsumexp": (0.8, 0.3), "mean": (0.08, 0.08),
    "native_dropout_backward": (1.7, 0.05), "native_layer_norm": (0.3, 0.25), "pow": (1.45, 0.6),
    "reciprocal": (0.04, 0.07), "remainder": (0.95, 0.15), "rsqrt": (0.2, 0.3), "sigmoid": (0.2, 0.3), "silu": (0.2, 0.35),
    "sin": (0.95, 0.3), "sinh": (8.8, 0.35), "_softmax": (0.4, 0.3), "softplus": (1, 0.85), "sqrt": (0.35, 0.1),
    "std": (4.4, 0.25), "std_mean": (4.4, 0.3), "sum": (0.06, 0.08), "tan": (1.15, 0.45), "tanh": (1.95, 0.2),
    "var": (4.4, 0.15), "var_mean": (4.4, 0.2), "where": (0.5, 0.05), "xlogy": (1.85, 0.95),
}  # fmt: skip

# Of these PyTorch has one kernel that passes over its operands less often than the formula does here.
_KERNELS = """
    _log_softmax_backward_data _native_batch_norm_legit_functional _softmax_backward_data batch_norm_backward gelu_backward
    native_batch_norm_backward native_group_norm native_group_norm_backward native_layer_norm_backward
""".split()

# Of these it has one kernel that passes over its operands as often.
_PASSES = """
    _native_batch_norm_legit_no_training _prelu_kernel _prelu_kernel_backward elu_backward glu glu_backward hardshrink
    hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh_backward leaky_relu_backward log_sigmoid_backward
    log_sigmoid_forward logit_backward mish mish_backward mse_loss mse_loss_backward relu6 sigmoid_backward
    silu_backward smooth_l1_loss smooth_l1_loss_backward softplus_backward softshrink special_entr tanh_backward threshold
    threshold_backward
""".split()

_LARGE = 1 << 20
"""Elements from which such an operation gains from its neighbours, as values are too large for the cache."""


def chosen(formulas):
    """PyTorch's formulas of operations, which leave it those that its own kernel computes faster."""
    return {target: _chosen(_table.name(target)[0], formula) for target, formula in formulas.items()}


def _chosen(name, formula):
    if name not in _KERNELS and name not in _PASSES:
        return formula

    @functools.wraps(formula)
    def chosen(*arguments, **named):
        is_large = name in _PASSES and max(map(elements, arguments)) >= _LARGE
        return formula(*arguments, **named) if ALWAYS or is_large else NotImplemented

    return chosen


def elements(value):
    """The elements of a value of a graph."""
    if isinstance(value, (tuple, list)):
        return max(map(elements, value), default=0)
    return math.prod(hint(size) for size in value.shape) if isinstance(value, torch.Tensor) else 1


def _traffic(nodes, calls):
    """Of reading or writing the values of nodes."""
    total = 0
    for node in nodes:
        value = node.meta.get("val")
        for value in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(value, torch.Tensor):
                # Elements that are repeated lie in memory once.
                stored = (hint(size) for size, stride in zip(value.shape, value.stride(), strict=True) if hint(stride))
                size = math.prod(stored) * value.element_size()
                total += size * (calls.byte if size < _NEAR_BYTES else calls.far_byte)
    return total


def _computed(node, calls):
    """Of computing a node's elements in registers, in PyTorch and in the engine."""
    name, _ = _table.name(node.target)
    theirs, ours = _ELEMENT.get(name, (_PASS, _PASS))
    if name == "pow" and node.args[1] in (-2, -1, -0.5, 0, 0.5, 1, 2, 3):
        theirs = ours = 2 * _PASS
    size = calls.computed * _size(node)
    return size * (theirs + _REPEATED * _repeats(node)), size * ours


def _size(node):
    """The elements that an operation passes over."""
    return max(elements(part.meta.get("val")) for part in (node, *node.all_input_nodes))


def _innermost(value):
    """The dimension of a tensor whose elements lie next to each other; ``None`` if it has none."""
    strides = {dim: hint(stride) for dim, stride in enumerate(value.stride()) if hint(value.shape[dim]) > 1 and hint(stride)}
    return min(strides, key=strides.get, default=None)


def _repeats(node):
    """How many operands as large as a node's result repeat their elements along its innermost dimension."""
    result = node.meta["val"]
    dim = _innermost(result) if isinstance(result, torch.Tensor) else None
    if dim is None:
        return 0
    values = (part.meta.get("val") for part in node.all_input_nodes)
    values = (value for value in values if isinstance(value, torch.Tensor) and value.ndim == result.ndim)
    return sum(elements(value) == elements(result) and hint(value.stride(dim)) == 0 for value in values)


def _passes(node, calls):
    """Of a reduction or normalisation in the engine, besides its elements."""
    name, size, value = _table.name(node.target)[0], _size(node), node.args and getattr(node.args[0], "meta", {}).get("val")
    if not isinstance(value, torch.Tensor):
        return 0
    named = arguments_of(node)
    dims = range(-len(named["normalized_shape"]), 0) if "normalized_shape" in named else named.get("dim", ())
    dims = {dim % value.ndim for dim in (dims if isinstance(dims, (tuple, list, range)) else (dims,)) if value.ndim}
    cost = calls.reduction if elements(node.meta["val"]) < size else 0
    if dims and _innermost(value) not in {None, *dims}:
        cost += calls.column * size
    elif name in ("_softmax", "_log_softmax", "native_layer_norm"):
        cost += calls.computed * _ROW * size / max(1, math.prod(hint(value.shape[dim]) for dim in dims))
    return cost


def slower(node, stored, calls):
    """Whether a node is slower in the engine, however much its neighbours gain from it: its result has no more elements than
    a value that is ``stored`` anyway."""
    if node.target is operator.getitem:
        return slower(node.args[0], stored, calls)
    theirs, ours = _computed(node, calls)
    saved = calls.call + _traffic([node, *node.all_input_nodes], calls)
    return not ALWAYS and ours - theirs > saved and elements(node.meta["val"]) <= stored


def theirs(nodes, calls):
    """Of nodes in PyTorch, views and copies too."""
    if ALWAYS:
        return math.inf
    total = 0
    for node in nodes:
        if node.target is operator.getitem:
            continue
        if node.target.is_view or _table.name(node.target)[0] == "_unsafe_view":
            total += calls.view
            continue
        row = _table.row(node.target)
        computed = 0 if row is not None and row.arranges else _computed(node, calls)[0]
        total += calls.call + _traffic([node, *node.all_input_nodes], calls) + computed
    return total


def ours(nodes, inputs, outputs, calls):
    """Of nodes that compute elements as a partition."""
    total = calls.partition + calls.tensor * (len(inputs) + len(outputs)) + _traffic([*inputs, *outputs], calls)
    return total + sum(_computed(node, calls)[1] + _passes(node, calls) for node in nodes if node.target is not operator.getitem)
