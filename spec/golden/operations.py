"""The operations of the corpus: a name, PyTorch's function, how many tensors it takes.

Owns the list of names and nothing else: no values, no files. A name that starts with `nn.` in the
`TORCH` table lives in `torch.nn.functional`; every other one in `torch`.
"""

import functools

import torch

DTYPES = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "uint16": torch.uint16,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Not of the fifteen, but PyTorch promotes to them.
NAMES.update({torch.complex32: "complex32", torch.bcomplex32: "bcomplex32"})

UNARY = """abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj_physical cos cosh
deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac frexp gelu i0 imag isfinite isinf isnan
isneginf isposinf lgamma log log10 log1p log2 logical_not logit nan_to_num neg positive rad2deg
real reciprocal relu round rsqrt sgn sigmoid sign signbit silu sin sinc sinh softplus sqrt square
tan tanh trunc""".split()

# Derivatives of others, which PyTorch has elsewhere.
SPECIAL = {"i1": torch.special.i1, "trigamma": functools.partial(torch.polygamma, 1)}

BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
clamp_max clamp_min complex copysign div eq float_power floor_divide fmax fmin fmod gcd ge gt heaviside hypot isclose
lcm ldexp le logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum mul ne
nextafter polar pow remainder rsub sub xlogy""".split()

TERNARY = ["addcdiv", "addcmul", "clamp", "lerp", "where", "masked_fill"]

REDUCTIONS = """sum mean prod amax amin argmax argmin all any var std logsumexp softmax log_softmax
norm""".split()

# Operations that have variants by a parameter that changes what is computed.
VARIANTS = {
    "div": [{}, {"rounding_mode": "floor"}, {"rounding_mode": "trunc"}],
    "gelu": [{}, {"approximate": "tanh"}],
}

FUNCTIONAL = {"gelu", "relu", "silu", "softplus"}


def function(name):
    """PyTorch's function of that name."""
    return SPECIAL.get(name) or getattr(torch.nn.functional if name in FUNCTIONAL else torch, name)


def variants(name):
    """The keyword sets to run `name` with."""
    return VARIANTS.get(name, [{}])


def label(name, kwargs):
    """`name` and its keywords as one readable line, as in `div(rounding_mode=floor)`."""
    inner = ",".join(f"{key}={value}" for key, value in kwargs.items())
    return f"{name}({inner})" if inner else name


def failure(error):
    """The class and the text of an exception, without a C++ stack trace that some texts carry."""
    return {
        "class": type(error).__name__,
        "text": str(error).partition("\nException raised from")[0],
    }
