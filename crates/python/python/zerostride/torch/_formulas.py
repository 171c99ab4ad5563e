"""Owns aten operations that are no single row of the engine's table, as formulas of rows on traced arrays.

Each function takes the operation's arguments under aten's names, ``self`` under ``input``.
"""

import functools

import zerostride as zs

# Floats that are computed with in more precision, and rounded once.
_HALF = (zs.float16, zs.bfloat16)


def _in_f32(formula):
    """A formula that computes f16 and bf16 in f32."""

    @functools.wraps(formula)
    def wide(input, *rest, **named):
        if input.dtype not in _HALF:
            return formula(input, *rest, **named)
        return formula(input.to(zs.float32), *rest, **named).to(input.dtype)

    return wide


# Views and copies.


def same(input, **_):
    return input


def view(input, size, **_):
    return zs.reshape(input, size)


def expand(input, size, implicit=False):
    return zs.expand(input, size)


def permute(input, dims):
    return zs.permute(input, dims)


def flip(input, dims):
    return zs.flip(input, dims)


def unfold(input, dimension, size, step):
    return input.unfold(dimension, size, step)


def slice_(input, dim=0, start=None, end=None, step=1):
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


# Constants, which are given their dtype and device.


def full(size, fill_value, dtype, device, **_):
    return zs.full((), fill_value, dtype=dtype, device=device).expand(size)


def zeros(size, dtype, device, **_):
    return full(size, 0, dtype, device)


def ones(size, dtype, device, **_):
    return full(size, 1, dtype, device)


def scalar_tensor(s, dtype, device, **_):
    return full((), s, dtype, device)


def full_like(input, fill_value, dtype, device, **_):
    return full(input.shape, fill_value, dtype, device)


def zeros_like(input, dtype, device, **_):
    return full(input.shape, 0, dtype, device)


def ones_like(input, dtype, device, **_):
    return full(input.shape, 1, dtype, device)


def fill(input, value, dtype, device):
    return full(input.shape, value, dtype, device)


def new_full(input, size, fill_value, dtype, device, **_):
    return full(size, fill_value, dtype, device)


def new_zeros(input, size, dtype, device, **_):
    return full(size, 0, dtype, device)


def new_ones(input, size, dtype, device, **_):
    return full(size, 1, dtype, device)


# Element by element.


def to_copy(input, dtype=None, **_):
    return input if dtype is None else input.to(dtype)


def hardtanh(input, min_val=-1, max_val=1):
    return zs.clamp(input, min_val, max_val)


@_in_f32
def leaky_relu(input, negative_slope=0.01):
    return zs.where(input > 0, input, input * negative_slope)


@_in_f32
def elu(input, alpha=1, scale=1, input_scale=1):
    return zs.where(input > 0, input * scale, zs.expm1(input * input_scale) * (alpha * scale))


@_in_f32
def logit(input, eps=None):
    return zs.logit(input, eps)


def native_dropout_backward(grad_output, mask, scale):
    return grad_output * mask * scale


def frexp(input):
    return zs.frexp_mantissa(input), zs.frexp_exponent(input)


# Reductions.


def softmax(input, dim, half_to_float):
    return zs.softmax(input.to(zs.float32) if half_to_float else input, dim)


def log_softmax(input, dim, half_to_float):
    return zs.log_softmax(input.to(zs.float32) if half_to_float else input, dim)


def var(input, dim=None, unbiased=True, correction=None, keepdim=False):
    return zs.var(input, dim, correction=int(unbiased) if correction is None else correction, keepdim=keepdim)


def std(input, dim=None, unbiased=True, correction=None, keepdim=False):
    return zs.std(input, dim, correction=int(unbiased) if correction is None else correction, keepdim=keepdim)


def var_mean(input, dim=None, unbiased=True, correction=None, keepdim=False):
    return var(input, dim, unbiased, correction, keepdim), zs.mean(input, dim, keepdim)


def std_mean(input, dim=None, unbiased=True, correction=None, keepdim=False):
    return std(input, dim, unbiased, correction, keepdim), zs.mean(input, dim, keepdim)


def native_layer_norm(input, normalized_shape, eps, weight=None, bias=None):
    dims, wide = list(range(-len(normalized_shape), 0)), input.to(zs.float32) if input.dtype in _HALF else input
    mean = zs.mean(wide, dims, keepdim=True)
    rstd = zs.rsqrt(zs.var(wide, dims, correction=0, keepdim=True) + eps)
    result = (wide - mean) * rstd
    result = result if weight is None else result * weight
    result = result if bias is None else result + bias
    return result.to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


def vector_norm(input, ord=2, dim=None, keepdim=False, dtype=None):
    return zs.norm(input if dtype is None else input.to(dtype), ord, dim, keepdim)


def aminmax(input, dim=None, keepdim=False):
    dim = () if dim is None else dim
    return zs.amin(input, dim, keepdim), zs.amax(input, dim, keepdim)


def max_dim(input, dim, keepdim=False):
    return zs.amax(input, dim, keepdim), zs.argmax(input, dim, keepdim)


def min_dim(input, dim, keepdim=False):
    return zs.amin(input, dim, keepdim), zs.argmin(input, dim, keepdim)


def cdist(x1, x2, p, compute_mode=None):
    sides = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if p == 1:
        return zs.sum(zs.abs(sides), -1)
    if p != 2 or x1.shape[-1] > 8:
        raise NotImplementedError("PyTorch multiplies matrices for distances of many numbers" if p == 2 else f"distances of order {p}")
    return zs.sqrt(zs.sum(sides * sides, -1))
