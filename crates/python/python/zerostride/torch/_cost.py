"""Owns what nodes cost in the engine and in PyTorch: which of them, and which groups, are faster where.

It does not know how a graph is divided (``_partition.py``).

Nanoseconds on one thread, f32, torch 2.15, 2 cores of an x86-64 machine with AVX2 (Zen 3), 2026-11-26.
``bench/torch_models.py operations`` measures elements and bytes; each is the shortest of four runs, of which
some had a compiler of low priority or a slower clock beside them. What surrounds elements, from ``_CALL`` to
``_REPEATED``, was fitted to 200 groups of nodes inside of steps of models, run in turn by the engine and by
PyTorch, beside other work. What counts is the difference of both sides, which other machines share as far as
both libraries use their vectors.
"""

import functools
import math
import operator

import torch

from . import _table
from ._support import arguments_of, hint

ALWAYS = False
"""Whether all that the engine can run runs there, whatever it costs, as in tests."""

_CALL, _VIEW = 10_000, 5_000
"""Of one of PyTorch's operations between others of a model, less its elements; of a view."""

_PARTITION, _TENSOR = 15_000, 10_000
"""Of a partition between operations of a model, and of each tensor that goes in or comes out. Calls in a loop
of their own take a quarter of that, as PyTorch's do: there code and values are in the caches."""

_REDUCTION, _COLUMN = 30_000, 0.4
"""Of a reduction, and of each element of one that keeps the innermost dimension, such as the gradient of a bias."""

_ROW = 25
"""Of each row that softmax and layer norm pass over."""

_REPEATED = 1
"""Of each element that PyTorch reads from an operand that is expanded along the innermost dimension."""

_BYTE, _FAR_BYTE, _NEAR_BYTES = 0.05, 0.15, 1 << 21
"""Of reading or writing a byte in cache, and of values that are too large for that. A byte is 0.02 in memory
that was just freed (0.045 from 16 MiB) and 0.2 to 0.35 in PyTorch's new memory, which what a backward pass
needs takes in each step; steps of models have both, and were measured at 0.06 to 0.1 for values of 400 KB."""

_PASS = 0.04
"""Of an element that a simple operation computes."""

# An element of other operations: in PyTorch, in the engine, less what ``neg`` takes there (``mul`` for two
# operands, half of ``neg`` for reductions), plus ``_PASS``. ``native_layer_norm`` and
# ``native_dropout_backward`` are what they take between a model's operations, operations of several results
# are the sum of their parts, ``where`` is that of masks in long runs, and ``_cdist_forward`` was not measured
# again.
_ELEMENT = {
    "_cdist_forward": (1, 0.5), "acos": (1.8, 1.25), "argmax": (1.3, 0.2), "argmin": (1.3, 0.2), "asin": (1.7, 1.2),
    "atan": (2.8, 1.6), "atan2": (2.7, 2.2), "cos": (1.5, 1.05), "cosh": (8, 1.2), "digamma": (14, 33), "erf": (1.45, 3.05),
    "erfc": (2, 3.05), "erfinv": (2.2, 39), "exp": (0.95, 0.45), "exp2": (0.45, 0.35), "expm1": (2, 1.1), "fmod": (1.3, 0.3),
    "gelu": (0.95, 2.9), "lgamma": (11, 22), "linalg_vector_norm": (0.15, 0.3), "log": (1.15, 0.75), "log10": (1.25, 1.2),
    "log1p": (1.45, 1.55), "log2": (1.1, 1.15), "logaddexp": (3.1, 9.7), "_log_softmax": (0.95, 1.1), "logsumexp": (1.5, 1),
    "mean": (0.15, 0.2), "native_dropout_backward": (1.7, 0.05), "native_layer_norm": (0.65, 1.4),
    "pow": (5.4, 3.3), "reciprocal": (0.07, 0.08),
    "remainder": (1.45, 0.4), "rsqrt": (0.3, 0.5), "sigmoid": (0.85, 1.05), "silu": (0.9, 1.15), "sin": (1.4, 1),
    "sinh": (15, 1.2), "_softmax": (1.1, 1), "softplus": (3.2, 3.9), "sqrt": (0.45, 0.15), "std": (6.7, 0.6),
    "std_mean": (6.7, 0.7), "sum": (0.07, 0.15), "tan": (2, 1.5), "tanh": (3, 0.95), "var": (6.7, 0.3),
    "var_mean": (6.7, 0.4), "where": (0.5, 0.05), "xlogy": (3.8, 3.8),
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


def _traffic(nodes):
    """Of reading or writing the values of nodes."""
    total = 0
    for node in nodes:
        value = node.meta.get("val")
        for value in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(value, torch.Tensor):
                # Elements that are repeated lie in memory once.
                stored = (hint(size) for size, stride in zip(value.shape, value.stride(), strict=True) if hint(stride))
                size = math.prod(stored) * value.element_size()
                total += size * (_BYTE if size < _NEAR_BYTES else _FAR_BYTE)
    return total


def _computed(node):
    """Of computing a node's elements in registers, in PyTorch and in the engine."""
    name, _ = _table.name(node.target)
    theirs, ours = _ELEMENT.get(name, (_PASS, _PASS))
    if name == "pow" and node.args[1] in (-2, -1, -0.5, 0, 0.5, 1, 2, 3):
        theirs = ours = 2 * _PASS
    return _size(node) * (theirs + _REPEATED * _repeats(node)), _size(node) * ours


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


def _passes(node):
    """Of a reduction or normalisation in the engine, besides its elements."""
    name, size, value = _table.name(node.target)[0], _size(node), node.args and getattr(node.args[0], "meta", {}).get("val")
    if not isinstance(value, torch.Tensor):
        return 0
    named = arguments_of(node)
    dims = range(-len(named["normalized_shape"]), 0) if "normalized_shape" in named else named.get("dim", ())
    dims = {dim % value.ndim for dim in (dims if isinstance(dims, (tuple, list, range)) else (dims,)) if value.ndim}
    cost = _REDUCTION if elements(node.meta["val"]) < size else 0
    if dims and _innermost(value) not in {None, *dims}:
        cost += _COLUMN * size
    elif name in ("_softmax", "_log_softmax", "native_layer_norm"):
        cost += _ROW * size / max(1, math.prod(hint(value.shape[dim]) for dim in dims))
    return cost


def slower(node, stored):
    """Whether a node is slower in the engine, however much its neighbours gain from it: its result has no more elements than
    a value that is ``stored`` anyway."""
    if node.target is operator.getitem:
        return slower(node.args[0], stored)
    theirs, ours = _computed(node)
    saved = _CALL + _traffic([node, *node.all_input_nodes])
    return not ALWAYS and ours - theirs > saved and elements(node.meta["val"]) <= stored


def gain(nodes, inputs, outputs):
    """The nanoseconds that a group of nodes gains in the engine. ``nodes`` are all that PyTorch need not run then, views
    and copies too."""
    if ALWAYS:
        return math.inf
    theirs, ours = 0, _PARTITION + _TENSOR * (len(inputs) + len(outputs)) + _traffic([*inputs, *outputs])
    for node in nodes:
        if node.target is operator.getitem:
            continue
        if node.target.is_view or _table.name(node.target)[0] == "_unsafe_view":
            theirs += _VIEW
            continue
        theirs += _CALL + _traffic([node, *node.all_input_nodes])
        if _table.row(node.target)[1]:
            continue
        one, other = _computed(node)
        theirs, ours = theirs + one, ours + other + _passes(node)
    return theirs - ours
