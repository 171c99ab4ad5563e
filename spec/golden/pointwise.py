"""Pointwise operations on every dtype: one, two and three tensors, and tensors with bare numbers.

Owns `ops_unary`, `ops_special`, `ops_binary`, `ops_scalar` and `ops_ternary` (each `.json` with `.npz`). Owns also
the list of operations whose integer kernels may kill the process.
"""

import operator

import torch

from bits import from_bits, to_bits
from operations import BINARY, DTYPES, NAMES, SPECIAL, UNARY, function, variants
from recorder import Recorder, keywords, survives
from store import number
from values import sets

INTEGERS = {n for n, d in DTYPES.items() if not d.is_floating_point and not d.is_complex}
# Integer kernels that divide: the smallest integer over -1 traps on x86 unless the kernel guards it.
TRAPPING = {"div", "floor_divide", "remainder", "fmod", "gcd", "lcm"}
EXTRA_UNARY = [
    ("round", {"decimals": d}) for d in (0, 1, 3, -1, -2)
] + [("logit", {"eps": 0.1}), ("logit", {"eps": 1e-6})] + [
    ("nan_to_num", {"nan": 2.5}), ("nan_to_num", {"nan": 1.0, "posinf": 5.0, "neginf": -6.0}),
    ("nan_to_num", {"posinf": 3.0}), ("softplus", {"beta": 2.0}),
    ("softplus", {"beta": 0.5, "threshold": 1.0}), ("softplus", {"threshold": 5.0}),
    ("clamp", {"min": -1, "max": 2}), ("clamp", {"min": 0}), ("clamp", {"max": 3}),
    ("clamp", {"min": -0.5, "max": 1.5}), ("clamp", {"min": 3, "max": 1}), ("clamp", {}),
    ("clamp", {"min": float("nan")}), ("clamp", {"min": 300}), ("clamp", {"max": 2.5}),
]  # fmt: skip
EXTRA_BINARY = [
    ("add", {"alpha": 2}), ("add", {"alpha": 0.5}), ("add", {"alpha": -3}), ("add", {"alpha": True}),
    ("sub", {"alpha": 2}), ("sub", {"alpha": 0.3}), ("rsub", {"alpha": 2}), ("rsub", {"alpha": 0.5}), ("add", {"alpha": 1j}),
    ("isclose", {"equal_nan": True}), ("isclose", {"rtol": 0.5, "atol": 0.25}),
    ("isclose", {"rtol": 0.0, "atol": 0.0}), ("isclose", {"rtol": -1.0}),
]  # fmt: skip
NUMBERS = [True, 2, -1, 0, 300, 0.1, -2.5, float("inf"), float("nan"), 1e300, 2j, 1.5 - 0.5j]
SCALAR_DTYPES = """bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64
complex128""".split()
# Operations with a number whose result is not exactly rounded.
ROUNDED = {"pow", "float_power", "xlogy"}
REFLECTED = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift,
    "float_power": torch.float_power, "xlogy": torch.xlogy,
}  # fmt: skip


def unary():
    runs_of_unary("ops_unary", [(op, kwargs) for op in UNARY for kwargs in variants(op)] + EXTRA_UNARY)


def special():
    runs_of_unary("ops_special", [(op, {}) for op in SPECIAL])


def runs_of_unary(name, runs):
    out = Recorder("pointwise.py", name, sets())
    for op, kwargs in runs:
        for name in DTYPES:
            x = out.inputs[f"wide/{name}"]
            case = {"op": op, "kwargs": keywords(kwargs), "a": out.input(f"wide/{name}")}
            # `positive`, `real` and `clamp` may return the input or a view of it.
            out.record(case, lambda: plain(function(op)(x.clone(), **kwargs)), [x])
    out.write()


def plain(result):
    """A named tuple as a tuple; anything else as it is."""
    return tuple(result) if isinstance(result, tuple) else result


def sanitized(call, a, b):
    """The second operand with the elements that kill the process set to 1, and their indices."""
    if survives(lambda: call(a, b)):
        return b, []
    bad = [i for i in range(a.numel()) if not survives(lambda: call(a[i : i + 1], b[i : i + 1]))]
    b = b.clone()
    b[bad] = 1
    return b, bad


def nonzero(tensor):
    """The tensor with every zero made 1."""
    patterns = to_bits(tensor)
    patterns[patterns == 0] = 1
    return from_bits(patterns, NAMES[tensor.dtype])


def trapping(op, a, b):
    """Whether this call could kill the process."""
    return op in TRAPPING and NAMES[a.dtype] in INTEGERS and NAMES[b.dtype] in INTEGERS


def binary_case(out, op, kwargs, keys, operands):
    """Record one call of two tensors, and a second one without zero divisors where zero is refused."""
    a, b = operands
    case = {"op": op, "kwargs": keywords(kwargs), "a": keys[0], "b": keys[1]}
    call = lambda x, y: function(op)(x, y, **kwargs)  # noqa: E731
    if trapping(op, a, b):
        b, bad = sanitized(call, a, b)
        if bad:
            out.input(f"{op}/{keys[1]}", b)
            case.update({"b": f"{op}/{keys[1]}", "killed": bad})
    error = out.record(case, lambda: call(a, b), [a, b], kwargs)
    if error is not None and str(error) == "ZeroDivisionError":
        key = "nonzero/" + keys[1]
        divisor = nonzero(operands[1])
        out.input(key, divisor)
        binary_case(out, op, kwargs, (keys[0], key), (a, divisor))


def binary():
    out = Recorder("pointwise.py", "ops_binary", sets())
    runs = [(op, kwargs) for op in BINARY for kwargs in variants(op)] + EXTRA_BINARY
    crossed = {}
    for name in DTYPES:
        values = out.inputs[f"cross/{name}"]
        count = len(values)
        crossed[name] = values.repeat_interleave(count), values.repeat(count)
        out.input(f"cross_a/{name}", crossed[name][0])
        out.input(f"cross_b/{name}", crossed[name][1])
    for op, kwargs in runs:
        for left in DTYPES:
            for right in DTYPES:
                if left == right:
                    keys, operands = (f"cross_a/{left}", f"cross_b/{left}"), crossed[left]
                elif (op, kwargs) in EXTRA_BINARY:
                    continue
                else:
                    keys = out.input(f"zip_a/{left}"), out.input(f"zip_b/{right}")
                    operands = [out.inputs[key] for key in keys]
                binary_case(out, op, kwargs, keys, operands)
    out.write()


def scalar():
    out = Recorder("pointwise.py", "ops_scalar", sets())
    runs = [(op, kwargs) for op in BINARY for kwargs in variants(op)]
    for op, kwargs in runs:
        for name in SCALAR_DTYPES:
            key = out.input(f"cross/{name}")
            x = out.inputs[key]
            for value in NUMBERS:
                forward = lambda t: function(op)(t, value, **kwargs)  # noqa: E731
                case = {
                    "op": op,
                    "kwargs": keywords(kwargs),
                    "a": key,
                    "b": {"number": number(value)},
                }
                scalar_case(out, op, case, ("a", key), x, value, forward)
                if op in REFLECTED and not kwargs:
                    backward = lambda t: REFLECTED[op](value, t)  # noqa: E731
                    case = {"op": op, "kwargs": {}, "a": {"number": number(value)}, "b": key}
                    scalar_case(out, op, case, ("b", key), x, value, backward)
    for name in SCALAR_DTYPES:
        key = out.input(f"cross/{name}")
        x = out.inputs[key]
        mask = out.inputs["cross/bool"].repeat(len(x))[: len(x)]
        mask_key = out.input(f"mask/{name}", mask)
        for value in NUMBERS:
            item = {"number": number(value)}
            case = {"op": "masked_fill", "kwargs": {}, "a": key, "b": mask_key, "c": item}
            out.record(case, lambda: x.masked_fill(mask, value))
            case = {"op": "where", "kwargs": {}, "a": mask_key, "b": key, "c": item}
            out.record(case, lambda: torch.where(mask, x, value))
            case = {"op": "where", "kwargs": {}, "a": mask_key, "b": item, "c": key}
            out.record(case, lambda: torch.where(mask, value, x))
            flipped = out.input(f"flipped/{name}", x.flip(0))
            case = {"op": "lerp", "kwargs": {}, "a": key, "b": flipped, "c": item}
            out.record(case, lambda: torch.lerp(x, x.flip(0), value))
        for first in NUMBERS:
            for second in NUMBERS:
                case = {"op": "where", "kwargs": {}, "a": "mask/bool"}
                case.update({"b": {"number": number(first)}, "c": {"number": number(second)}})
                if name == "bool":
                    out.record(case, lambda: torch.where(mask, first, second))
    out.write()


def full(x, value):
    """The number as a tensor beside `x`, in the widest dtype of its category."""
    wide = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    return torch.full(x.shape, value, dtype=wide[type(value)])


def scalar_case(out, op, case, place, x, value, call):
    """Record a call with a number, and a second one without zeros where zero is refused.

    `place` is the operand that the tensor is, `a` or `b`, and the tensor's key.
    """
    side, key = place
    if op in TRAPPING and NAMES[x.dtype] in INTEGERS and not survives(lambda: call(x)):
        bad = [i for i in range(len(x)) if not survives(lambda: call(x[i : i + 1]))]
        x = x.clone()
        x[bad] = 1
        case = {**case, side: out.input(f"{op}/{key}", x), "killed": bad}
    operands = [x, full(x, value)]
    if side == "b":
        operands.reverse()
    error = out.record(case, lambda: call(x), operands if op in ROUNDED else None)
    if error is not None and str(error) == "ZeroDivisionError" and side == "b":
        x = nonzero(x)
        key = out.input("nonzero/" + key, x)
        again = {k: v for k, v in case.items() if k not in ("error", "killed")} | {"b": key}
        scalar_case(out, op, again, ("b", key), x, value, call)


def ternary():
    out = Recorder("pointwise.py", "ops_ternary", sets())
    mixes = [
        ("float32", "float64", "float16"), ("float16", "bfloat16", "float32"),
        ("int32", "float32", "float32"), ("float32", "int64", "int8"), ("int8", "uint8", "int16"),
        ("complex64", "float64", "float32"), ("float64", "complex64", "int32"),
        ("bool", "float32", "int64"), ("float32", "float32", "bool"), ("uint8", "int64", "bool"),
        ("int64", "int64", "float64"), ("float32", "float32", "float64"),
    ]  # fmt: skip
    triples = [(name,) * 3 for name in DTYPES] + mixes
    runs = [
        ("addcmul", {}), ("addcmul", {"value": 2}), ("addcmul", {"value": 0.5}),
        ("addcmul", {"value": -3}), ("addcdiv", {}), ("addcdiv", {"value": 2}),
        ("addcdiv", {"value": 0.1}), ("clamp", {}), ("lerp", {}),
    ]  # fmt: skip
    for op, kwargs in runs:
        for names in triples:
            keys, operands = tripled(out, names)
            case = {"op": op, "kwargs": keywords(kwargs), "a": keys[0], "b": keys[1], "c": keys[2]}
            out.record(case, lambda: function(op)(*operands, **kwargs), operands, kwargs)
    for names in triples:
        keys, (a, b, c) = tripled(out, names)
        for kwargs in ({"min": b}, {"max": b}):
            place = next(iter(kwargs))
            case = {"op": "clamp", "kwargs": {}, "a": keys[0], place: keys[1]}
            out.record(case, lambda: torch.clamp(a, **kwargs))
        case = {"op": "where", "kwargs": {}, "a": keys[0], "b": keys[1], "c": keys[2]}
        out.record(case, lambda: torch.where(a, b, c))
    for left in DTYPES:
        for right in DTYPES:
            keys, operands = tripled(out, ("bool", left, right))
            case = {"op": "where", "kwargs": {}, "a": keys[0], "b": keys[1], "c": keys[2]}
            out.record(case, lambda: torch.where(*operands))
            fill = operands[2][3]
            case = {"op": "masked_fill", "kwargs": {}, "a": keys[1], "b": keys[0]}
            case["c"] = out.input(f"0d/{right}", fill)
            out.record(case, lambda: operands[1].masked_fill(operands[0], fill))
    out.write()


def tripled(out, names):
    """Three operands of twenty-four elements, with their keys."""
    a = out.inputs[f"zip_a/{names[0]}"]
    b = out.inputs[f"zip_b/{names[1]}"]
    c = out.inputs[f"zip_a/{names[2]}"].roll(7)
    return [
        out.input(f"zip_a/{names[0]}"),
        out.input(f"zip_b/{names[1]}"),
        out.input(f"rolled/{names[2]}", c),
    ], (a, b, c)


def main():
    unary()
    special()
    binary()
    scalar()
    ternary()


if __name__ == "__main__":
    main()
