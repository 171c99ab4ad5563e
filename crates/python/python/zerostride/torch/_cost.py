"""Owns what nodes cost in the engine and in PyTorch: which of them, and which groups, are faster where. It does not know how a
graph is divided (``_partition.py``).

Nanoseconds on one thread, f32, torch 2.15, 2 cores of an x86-64 machine with AVX2 (Zen 3); ``bench/torch_models.py operations``
measures them; these were rounded from runs beside other work. What counts is the difference of both, which other machines share
as far as both libraries use their vectors.
"""

import functools
import math
import operator

import torch

from . import _table
from ._support import hint

ALWAYS = False
"""Whether all that the engine can run runs there, whatever it costs, as in tests."""

_CALL = 2_000
"""Of one of PyTorch's operations from compiled code."""

_PARTITION, _TENSOR = 3_000, 500
"""Of a partition, and of each tensor that goes in or comes out."""

_BYTE, _FAR_BYTE, _NEAR_BYTES = 0.025, 0.15, 1 << 21
"""Of reading or writing a byte in cache, and of values that are too large for that, whose memory is often new."""

_PASS = 0.04
"""Of an element that a simple operation computes."""

# An element of other operations: in PyTorch, in the engine.
_ELEMENT = {
    "_cdist_forward": (1, 0.5), "acos": (7, 0.8), "argmax": (0.8, 0.2), "argmin": (0.8, 0.2), "asin": (5, 0.6),
    "atan": (2, 1.1), "atan2": (1.3, 1.2), "cos": (1, 0.9), "cosh": (4.5, 0.9), "digamma": (15, 18), "div": (0.05, 0.1),
    "erf": (0.75, 1.6), "erfc": (1.4, 2), "erfinv": (2, 2), "exp": (0.6, 0.25), "exp2": (0.2, 0.2), "expm1": (1, 0.75),
    "fmod": (0.7, 0.2), "gelu": (0.6, 1.7), "lgamma": (5, 15), "linalg_vector_norm": (0.1, 0.15), "log": (0.75, 0.55),
    "log10": (0.75, 0.8), "log1p": (1, 1.05), "log2": (0.75, 0.8), "logaddexp": (2, 2), "_log_softmax": (0.5, 0.6),
    "logsumexp": (0.8, 0.55), "mean": (0.07, 0.12), "pow": (2.7, 1.7), "reciprocal": (0.05, 0.1), "remainder": (0.8, 0.3),
    "rsqrt": (0.15, 0.4), "sigmoid": (0.45, 0.5), "silu": (0.4, 0.55), "sin": (1, 0.8), "sinh": (9, 0.9),
    "_softmax": (0.5, 0.55), "softplus": (1.8, 2.3), "sqrt": (0.3, 0.15), "std": (3.3, 0.3), "std_mean": (3.3, 0.4),
    "sum": (0.07, 0.12), "tan": (1.4, 1.1), "tanh": (2, 0.75), "var": (3.3, 0.2), "var_mean": (3.3, 0.3),
    "where": (0.5, 0.05), "xlogy": (2, 2),
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
    log_sigmoid_forward logit_backward mish mish_backward mse_loss mse_loss_backward native_layer_norm relu6 sigmoid_backward
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
                size = elements(value) * value.element_size()
                total += size * (_BYTE if size < _NEAR_BYTES else _FAR_BYTE)
    return total


def _computed(node):
    """Of computing a node's elements in registers, in PyTorch and in the engine."""
    if node.target is operator.getitem:
        return 0, 0
    name, _ = _table.name(node.target)
    theirs, ours = _ELEMENT.get(name, (_PASS, _PASS))
    if name == "pow" and node.args[1] in (-2, -1, -0.5, 0, 0.5, 1, 2, 3):
        theirs = ours = 2 * _PASS
    size = max(elements(part.meta.get("val")) for part in (node, *node.all_input_nodes))
    return size * theirs, size * ours


def slower(node, stored):
    """Whether a node is slower in the engine, however much its neighbours gain from it: its result has no more elements than
    a value that is ``stored`` anyway."""
    theirs, ours = _computed(node)
    saved = _CALL + _traffic([node, *node.all_input_nodes])
    return not ALWAYS and ours - theirs > saved and elements(node.meta["val"]) <= stored


def gain(nodes, inputs, outputs):
    """The nanoseconds that a group of nodes gains in the engine."""
    if ALWAYS:
        return math.inf
    theirs, ours = 0, _PARTITION + _TENSOR * (len(inputs) + len(outputs)) + _traffic([*inputs, *outputs])
    for node in nodes:
        if node.target is not operator.getitem:
            theirs += _CALL + _traffic([node, *node.all_input_nodes])
        one, other = _computed(node)
        theirs, ours = theirs + one, ours + other
    return theirs - ours
