"""Owns the table of PyTorch's operations that the engine runs: for each the row of the engine's table that it is, or a
formula of rows. It does not know which of them are worth it (``_partition.py``).

A key is the name of an aten operation, for all of its overloads, or of one overload. Arguments are handed on by name.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import zerostride as zs

from . import _formulas as formulas

_SAME_NAMES = """
    abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min copysign cos cosh deg2rad digamma div eq erf erfc erfinv exp
    exp2 expm1 floor floor_divide fmax fmin fmod frac gcd ge gelu gt heaviside hypot i0 isfinite isinf isnan isneginf isposinf
    lcm ldexp le lerp lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor lt
    masked_fill maximum minimum mul nan_to_num ne neg nextafter pow rad2deg reciprocal relu remainder round rsqrt rsub sgn
    sigmoid sign signbit silu sin sinc sinh softplus sqrt square sub tan tanh trunc where xlogy
    sum prod mean amax amin argmax argmin all any logsumexp nansum
""".split()

# Operations that compute elements.
COMPUTED = {name: getattr(zs, name) for name in _SAME_NAMES} | {
    "__lshift__": zs.bitwise_left_shift,
    "__rshift__": zs.bitwise_right_shift,
    "__and__": zs.bitwise_and,
    "__or__": zs.bitwise_or,
    "__xor__": zs.bitwise_xor,
    "_cdist_forward": formulas.cdist,
    "_log_softmax": formulas.log_softmax,
    "_softmax": formulas.softmax,
    "_to_copy": formulas.to_copy,
    "aminmax": formulas.aminmax,
    "clip": zs.clamp,
    "elu": formulas.elu,
    "float_power": zs.float_power,
    "frexp.Tensor": formulas.frexp,
    "hardtanh": formulas.hardtanh,
    "leaky_relu": formulas.leaky_relu,
    "linalg_vector_norm": formulas.vector_norm,
    "logit": formulas.logit,
    "max.default": zs.amax,
    "max.dim": formulas.max_dim,
    "max.other": zs.maximum,
    "min.default": zs.amin,
    "min.dim": formulas.min_dim,
    "min.other": zs.minimum,
    "native_dropout_backward": formulas.native_dropout_backward,
    "native_layer_norm": formulas.native_layer_norm,
    "std": formulas.std,
    "std_mean": formulas.std_mean,
    "true_divide": zs.div,
    "var": formulas.var,
    "var_mean": formulas.var_mean,
}

# Operations that compute no elements. Each partition has its own copy of those that it reads, and none of
# them is a result of a partition. Views and copies:
ARRANGED = {
    "_reshape_alias": formulas.view,
    "_unsafe_view": formulas.view,
    "alias": formulas.same,
    "clone": formulas.same,
    "detach": formulas.same,
    "diagonal": zs.diagonal,
    "expand": formulas.expand,
    "flip": formulas.flip,
    "lift_fresh_copy": formulas.same,
    "permute": formulas.permute,
    "positive": formulas.same,
    "reshape": formulas.view,
    "select.int": zs.select,
    "slice.Tensor": formulas.slice_,
    "squeeze": zs.squeeze,
    "t": zs.t,
    "transpose.int": zs.transpose,
    "unfold": formulas.unfold,
    "unsqueeze": zs.unsqueeze,
    "view.default": formulas.view,
    "view_copy.default": formulas.view,
}

# Constants.
CONSTANT = {
    "fill.Scalar": formulas.fill,
    "full": formulas.full,
    "full_like": formulas.full_like,
    "new_full": formulas.new_full,
    "new_ones": formulas.new_ones,
    "new_zeros": formulas.new_zeros,
    "ones": formulas.ones,
    "ones_like": formulas.ones_like,
    "scalar_tensor": formulas.scalar_tensor,
    "zeros": formulas.zeros,
    "zeros_like": formulas.zeros_like,
}

# Functions that have no kernel for GPUs.
ON_CPU = {zs.gcd, zs.lcm}

# Operations that PyTorch decomposes into the above before the graph is divided; others stay one node.
DECOMPOSED = """
    _fused_rms_norm _fused_rms_norm_backward _log_softmax_backward_data _native_batch_norm_legit
    _native_batch_norm_legit_functional _native_batch_norm_legit_no_training _prelu_kernel _prelu_kernel_backward
    _softmax_backward_data addr batch_norm_backward binary_cross_entropy binary_cross_entropy_backward
    binary_cross_entropy_with_logits celu elu_backward gelu_backward glu glu_backward hardshrink hardsigmoid
    hardsigmoid_backward hardswish hardswish_backward hardtanh_backward huber_loss huber_loss_backward l1_loss
    leaky_relu_backward log_sigmoid_backward log_sigmoid_forward logit_backward mish mish_backward mse_loss mse_loss_backward
    native_batch_norm native_batch_norm_backward native_group_norm native_group_norm_backward native_layer_norm_backward
    relu6 selu sigmoid_backward silu_backward smooth_l1_loss smooth_l1_loss_backward soft_margin_loss
    soft_margin_loss_backward softplus_backward softshrink special_entr special_log_ndtr special_ndtr special_xlog1py
    tanh_backward threshold threshold_backward
""".split()

# Those whose decompositions give other dtypes or values than PyTorch's kernels for operands of several
# dtypes, or for integers.
OF_FLOATS = {"huber_loss", "soft_margin_loss", "threshold"}


def name(target):
    """The name of an operation, and of its overload."""
    return target.overloadpacket._qualified_op_name.partition("::")[2], target._overloadname


class Row(NamedTuple):
    """How an aten operation is computed on traced arrays."""

    function: Callable
    # Whether it computes no elements, and whether it has no operands with elements either.
    arranges: bool
    is_constant: bool


def row(target):
    """The row of an aten operation; ``None`` where the table has none."""
    if target.namespace not in ("aten", "prims"):
        return None
    packet, overload = name(target)
    for table in (COMPUTED, ARRANGED, CONSTANT):
        function = table.get(f"{packet}.{overload}") or table.get(packet)
        if function is not None:
            return Row(function, table is not COMPUTED, table is CONSTANT)
    return None


def decompositions():
    """PyTorch's formulas of the operations that are seen through."""
    import torch
    from torch._decomp import get_decompositions

    formulas = get_decompositions([getattr(torch.ops.aten, name) for name in DECOMPOSED])
    return {op: _floats_alone(formula) if name(op)[0] in OF_FLOATS else formula for op, formula in formulas.items()}


def _floats_alone(formula):
    """A formula that PyTorch's own operation is kept instead of unless all tensors are floats of one dtype."""
    import torch

    @functools.wraps(formula)
    def checked(*arguments, **keywords):
        dtypes = {value.dtype for value in arguments if isinstance(value, torch.Tensor)}
        fits = len(dtypes) == 1 and dtypes.pop().is_floating_point
        return formula(*arguments, **keywords) if fits else NotImplemented

    return checked
