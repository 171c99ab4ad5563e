"""Gradients of every row of the op table: PyTorch's, on ordinary values and where derivatives end.

Owns `gradients.json`. Each case is an operation, its operands and further arguments, the gradients with respect to each
operand that has one, given the cotangent `cotangent`, and for smooth operations on ordinary values the gradients of these
gradients' sum, weighted by `weight`. Everything is in f64, or c128 as pairs; infinities and NaN are words.
"""

import math

import torch

from store import provenance, write_json

INF, NAN = math.inf, math.nan
ORDINARY = [-2.5, -0.75, 0.3, 0.8, 1.25, 2.0, 3.5]
TRAPS = [0.0, -0.0, 1.0, -1.0, 2.0, INF, -INF, NAN, 1e300, 1e-300]
COMPLEX = [0.5 + 0.25j, -0.75 + 1.5j, 2.0 - 0.5j, -0.3 - 0.6j]
PAIRS = [-2.0, -0.5, 0.0, 1.0, 2.5, INF, NAN]

special = torch.special
functional = torch.nn.functional

UNARY = """abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac
i0 lgamma log log10 log1p log2 logit nan_to_num neg positive rad2deg reciprocal relu round rsqrt sgn sigmoid sign sin sinc
sinh sqrt square tan tanh trunc conj_physical real""".split()
OTHER_UNARY = {
    "frexp_mantissa": lambda x: torch.frexp(x).mantissa,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "i1": special.i1,
    "silu": functional.silu,
    "softplus": functional.softplus,
}
OF_COMPLEX = """abs acos acosh angle asin asinh atan atanh conj_physical cos cosh exp exp2 expm1 imag log log10 log1p log2 neg
positive real reciprocal rsqrt sgn sigmoid sin sinc sinh sqrt square tan tanh""".split()
BINARY = """add atan2 copysign div float_power fmax fmin fmod hypot logaddexp logaddexp2 maximum minimum mul nextafter pow
remainder sub xlogy clamp_min clamp_max rsub polar complex""".split()
COMPLEX_BINARY = "add sub mul div pow logaddexp rsub".split()

# Where the gradient jumps or is not of PyTorch's table, there is no second one.
ROUGH = set("""abs ceil floor frac relu round sgn sign trunc copysign fmax fmin fmod maximum minimum nextafter remainder
clamp_min clamp_max frexp_mantissa digamma nan_to_num angle hardshrink hardsigmoid hardtanh leaky_relu relu6 softshrink
threshold""".split())


# Formulas of one operand, and where their pieces meet.
ACTIVATIONS = {
    "celu": {"alpha": 2.0}, "elu": {"alpha": 2.5}, "hardshrink": {}, "hardsigmoid": {}, "hardswish": {}, "hardtanh": {},
    "leaky_relu": {}, "logsigmoid": {}, "mish": {}, "relu6": {}, "selu": {}, "softshrink": {}, "softsign": {}, "tanhshrink": {},
    "threshold": {"threshold": 0.5, "value": 2.0},
}  # fmt: skip
ENDS = [-3.0, -1.0, -0.5, 0.5, 1.0, 3.0, 6.0, 1000.0, -1000.0]


def cotangent(index):
    return 0.25 + (7 * index) % 5 / 4


def weight(index):
    return 1 - (3 * index) % 4 / 4


def spread(function, like):
    """One number for each element, real ones of complex tensors, too."""
    values = torch.tensor([function(index) for index in range(like.numel())], dtype=torch.float64)
    return values.reshape(like.shape).to(like.dtype)


def coded(value):
    if isinstance(value, complex):
        return [coded(value.real), coded(value.imag)]
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def listed(tensor):
    return [coded(value) for value in tensor.reshape(-1).resolve_conj().tolist()]


def case(op, function, operands, second=False, **arguments):
    operands = [torch.as_tensor(operand) for operand in operands]
    operands = [x.clone().requires_grad_() if x.is_floating_point() or x.is_complex() else x for x in operands]
    inputs = [x for x in operands if x.requires_grad]
    result = function(*operands, **arguments)
    gradients = torch.autograd.grad(result, inputs, spread(cotangent, result), create_graph=second, allow_unused=True)
    gradients = [torch.zeros_like(x) if g is None or g._is_zerotensor() else g for x, g in zip(inputs, gradients, strict=True)]
    found = {
        "op": op,
        "arguments": {name: coded(value) for name, value in arguments.items()},
        "operands": [{"dtype": str(x.dtype).removeprefix("torch."), "shape": list(x.shape), "values": listed(x.detach())} for x in operands],
        "gradients": [listed(gradient.detach()) for gradient in gradients],
    }
    if second:
        total = sum((gradient * spread(weight, gradient)).sum() for gradient in gradients)
        seconds = torch.autograd.grad(total, inputs, allow_unused=True) if total.requires_grad else [None] * len(inputs)
        found["second"] = [listed(torch.zeros_like(x) if g is None else g) for x, g in zip(inputs, seconds, strict=True)]
    return found


def doubles(*values, shape=None):
    tensor = torch.tensor(values, dtype=torch.float64)
    return tensor if shape is None else tensor.reshape(shape)


def cases():
    for name in UNARY + list(OTHER_UNARY):
        function = OTHER_UNARY.get(name) or getattr(torch, name)
        yield case(name, function, [doubles(*ORDINARY)], second=name not in ROUGH)
        yield case(name, function, [doubles(*TRAPS)])
    for name in OF_COMPLEX:
        yield case(name, getattr(torch, name), [torch.tensor([*COMPLEX, 0j], dtype=torch.complex128)])
    for name, arguments in ACTIVATIONS.items():
        function = getattr(functional, name)
        yield case(name, function, [doubles(*ORDINARY)], second=name not in ROUGH, **arguments)
        yield case(name, function, [doubles(*TRAPS, *ENDS)], **arguments)
    yield case("logit", torch.logit, [doubles(0.1, 0.25, 0.5, 0.75, 0.9)], eps=0.25)
    yield case("round", torch.round, [doubles(0.123, 2.5)], decimals=1)
    yield case("softplus", functional.softplus, [doubles(*ORDINARY, 0.45)], second=True, beta=2, threshold=1)
    yield case("nan_to_num", torch.nan_to_num, [doubles(*TRAPS)], nan=1.0, posinf=2.0, neginf=3.0)
    first, second = torch.meshgrid(doubles(*PAIRS), doubles(*PAIRS), indexing="ij")
    column, row = doubles(0.5, 1.25, 2.0, shape=(3, 1)), doubles(0.75, 1.5)
    for name in BINARY:
        function = getattr(torch, name)
        yield case(name, function, [first.reshape(-1), second.reshape(-1)])
        yield case(name, function, [column, row], second=name not in ROUGH and name not in ("polar", "complex"))
        if name not in ("polar", "complex"):
            yield case(name, function, [row, doubles(0.6)[0]])
    for name in COMPLEX_BINARY:
        yield case(name, getattr(torch, name), [torch.tensor(COMPLEX), torch.tensor(COMPLEX[::-1])])
        if name != "logaddexp":
            yield case(name, getattr(torch, name), [doubles(*row.tolist() * 2), torch.tensor(COMPLEX)])
    whole = torch.tensor([2, -1, 3])
    for name in "add sub mul div pow maximum fmod remainder xlogy copysign ldexp".split():
        yield case(name, getattr(torch, name), [doubles(0.5, 1.5, 2.5), whole])
    yield case("ldexp", torch.ldexp, [doubles(0.5, 1.5), doubles(0.5, -1.25)], second=True)
    for mode in ("floor", "trunc"):
        yield case("div", torch.div, [column, row], rounding_mode=mode)
    yield case("add", torch.add, [column, row], alpha=2.5)
    yield case("sub", torch.sub, [column, row], alpha=2.5)
    for exponent in (0, 1, 2, 3, -1, 0.5, -0.5, -2, 1.5, 2.5):
        yield case("pow", torch.pow, [doubles(*ORDINARY)], second=True, exponent=exponent)
        yield case("pow", torch.pow, [doubles(*TRAPS)], exponent=exponent)
    yield case("where", torch.where, [first.reshape(-1) > second.reshape(-1), first.reshape(-1), second.reshape(-1)])
    yield case("where", torch.where, [torch.tensor([True, False]), column, row])
    yield case("masked_fill", torch.masked_fill, [column, torch.tensor([[True, False]]), doubles(2.0)[0]])
    yield case("lerp", torch.lerp, [column, row, doubles(0.25, 0.75)], second=True)
    yield case("lerp", torch.lerp, [torch.tensor(COMPLEX), torch.tensor(COMPLEX[::-1]), torch.tensor(COMPLEX)])
    yield case("addcmul", torch.addcmul, [column, row, doubles(2.0, 3.0)], second=True, value=0.5)
    yield case("addcdiv", torch.addcdiv, [column, row, doubles(2.0, 3.0)], second=True, value=0.5)
    steps = doubles(0.0, 1.0, 2.0, 3.0, 4.0, NAN)
    yield case("clamp", torch.clamp, [steps], min=1.0, max=3.0)
    yield case("clamp", torch.clamp, [steps], min=3.0, max=1.0)
    yield case("clamp", torch.clamp, [steps], min=1.0)
    yield case("clamp", torch.clamp, [steps[:5], doubles(1.0)[0], doubles(3.0)[0]])
    tied = doubles(3.0, 1.0, 3.0, -2.0, 3.0, 3.0, shape=(2, 3))
    holes = doubles(0.0, 2.0, 3.0, 0.0, 0.0, 5.0, 1.5, -2.0, 4.0, 0.0, NAN, 2.0, shape=(4, 3))
    cube = doubles(*[math.sin(3 * i) + 0.1 * i for i in range(24)], shape=(2, 3, 4))
    broken = doubles(1.0, INF, 2.0, NAN, 3.0, 3.0, -INF, -INF, -INF, shape=(3, 3))
    reductions = "sum prod amax amin mean nansum nanmean logsumexp".split()
    for name in reductions:
        function, smooth = getattr(torch, name), name in ("sum", "prod", "mean", "logsumexp")
        yield case(name, function, [cube], second=smooth, dim=1)
        yield case(name, function, [cube], second=smooth, dim=-1, keepdim=True)
        if name != "prod":
            yield case(name, function, [cube], second=smooth, dim=(0, 2))
        if name != "logsumexp":
            yield case(name, function, [cube])
        yield case(name, function, [tied], dim=1)
        yield case(name, function, [holes], dim=1)
        yield case(name, function, [broken], dim=1)
    yield case("prod", torch.prod, [holes[:2]], second=True, dim=1)
    yield case("prod", torch.prod, [doubles(0.0, 3.0, 0.0)], second=True)
    for name in ("var", "std"):
        yield case(name, getattr(torch, name), [cube], second=True, dim=1, correction=0)
        yield case(name, getattr(torch, name), [cube], second=True)
        yield case(name, getattr(torch, name), [tied], dim=0, correction=1)
        yield case(name, getattr(torch, name), [tied], dim=1, correction=3)
        yield case(name, getattr(torch, name), [broken], dim=1)
    for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1):
        yield case("norm", torch.norm, [cube], second=p in (1.5, 2, 3), p=p, dim=1)
        yield case("norm", torch.norm, [doubles(0.0, 1.0, -2.0, 0.0, 0.0, 0.0, shape=(2, 3))], p=p, dim=1)
    for name in ("softmax", "log_softmax"):
        for dim in (0, 1, -1):
            yield case(name, getattr(torch, name), [cube], second=True, dim=dim)
        yield case(name, getattr(torch, name), [tied], dim=1)
        yield case(name, getattr(torch, name), [broken], dim=1)
    row, column, other = cube[0, 0], cube[:, :, :1] + 1, cube.flip(0, 1, 2) + 0.25
    zero = doubles(0.0, 0.0, 0.0, 1.0, 2.0, -1.0, shape=(2, 3))
    for arguments in ({}, {"p": 1.0, "dim": -1}, {"p": 3.0, "dim": 0}):
        yield case("normalize", functional.normalize, [cube], second=True, **arguments)
        yield case("normalize", functional.normalize, [zero], **arguments)
    for name in ("layer_norm", "rms_norm"):
        yield case(name, getattr(torch, name), [cube], second=True, normalized_shape=[4])
        yield case(name, getattr(torch, name), [cube], second=True, normalized_shape=[3, 4], eps=0.5)
    for b in (other, row, column):
        yield case("cosine_similarity", torch.cosine_similarity, [cube, b], second=True, dim=-1)
        yield case("pairwise_distance", torch.pairwise_distance, [cube, b], second=True)
    yield case("cosine_similarity", torch.cosine_similarity, [zero, zero + 1], dim=1)
    yield case("pairwise_distance", torch.pairwise_distance, [cube, other], p=3.0, keepdim=True)
    for p in (1.0, 2.0, 3.0):
        yield case("cdist", torch.cdist, [cube, other[0, :2]], p=p)
    yield case("cdist", torch.cdist, [zero, zero])
    for name in "sum prod mean var std logsumexp norm".split():
        arguments = {} if name in ("norm", "prod", "mean", "sum", "var", "std") else {"dim": 0}
        yield case(name, getattr(torch, name), [torch.tensor(COMPLEX)], **arguments)
    for name in "sum mean exp".split():
        yield case(name, getattr(torch, name), [torch.zeros((0, 3), dtype=torch.float64)])
    for shapes in ([3], [3]), ([2, 3], [3]), ([3], [3, 2]), ([2, 3], [3, 4]), ([5, 2, 3], [3, 4]), ([2, 1, 2, 3], [4, 3, 2]), ([3], [2, 3, 2]), ([2, 2, 3], [3]):
        a, b = (doubles(*[math.cos(i + len(s)) for i in range(math.prod(s))], shape=s) for s in shapes)
        yield case("matmul", torch.matmul, [a, b], second=True)
    yield case("matmul", torch.matmul, [torch.tensor(COMPLEX).reshape(2, 2), torch.tensor(COMPLEX[::-1]).reshape(2, 2)])


def main():
    torch.set_default_dtype(torch.float64)
    write_json("gradients.json", provenance("gradients.py"), {"cases": list(cases())})


if __name__ == "__main__":
    main()
