"""In-place operations and `out=`: refused casts, refused shapes, memory overlap, resizing.

Owns `in_place.json`. Every operand is written as a strided window on a storage, so that overlap is
data; the answer is the whole storage afterwards, or the refusal.
"""

import itertools
import warnings

import torch

from operations import DTYPES, NAMES, failure
from store import provenance, write_json

UNARY = ["exp_", "neg_", "abs_", "sqrt_", "sigmoid_", "logical_not_", "floor_", "square_"]
BINARY = """add_ sub_ mul_ div_ floor_divide_ remainder_ pow_ copy_ eq_ lt_ logical_and_ bitwise_and_
atan2_ fmod_ copysign_ xlogy_ maximum minimum""".split()
CAST_METHODS = """add_ mul_ div_ floor_divide_ pow_ eq_ logical_and_ bitwise_and_ copy_ atan2_
copysign_ float_power_ remainder_""".split()
CAST_UNARY = ["exp_", "neg_", "abs_", "sqrt_", "logical_not_", "floor_", "round_", "square_"]
CAST_OUT = ["add", "mul", "div", "eq", "maximum", "atan2", "pow"]


def window(shape, strides, offset=0, storage="x"):
    """An operand: shape and strides in elements over a named storage."""
    return {"storage": storage, "shape": shape, "strides": strides, "offset": offset}


def contiguous(shape, storage="y"):
    """A fresh, contiguous operand."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return window(shape, strides, 0, storage)


SIZE = 24
# The target first, then the other operand; both in storage x unless they say y.
OVERLAPS = {
    "disjoint storages": (contiguous([2, 3], "x"), contiguous([2, 3])),
    "same": (contiguous([2, 3], "x"), contiguous([2, 3], "x")),
    "same, other shape": (contiguous([2, 3], "x"), contiguous([3, 2], "x")),
    "shifted by one": (window([5], [1], 1), window([5], [1], 0)),
    "shifted back": (window([5], [1], 0), window([5], [1], 1)),
    "shifted by all": (window([5], [1], 5), window([5], [1], 0)),
    "transposed": (window([3, 3], [3, 1]), window([3, 3], [1, 3])),
    "transposed target": (window([3, 3], [1, 3]), window([3, 3], [3, 1])),
    "both transposed": (window([3, 3], [1, 3]), window([3, 3], [1, 3])),
    "interleaved": (window([5], [2], 0), window([5], [2], 1)),
    "every other of itself": (window([5], [2], 0), window([5], [1], 0)),
    "two windows side by side": (window([2, 3], [6, 1], 0), window([2, 3], [6, 1], 3)),
    "two windows that overlap": (window([2, 3], [6, 1], 0), window([2, 3], [6, 1], 2)),
    "one row of itself": (window([3, 3], [3, 1]), window([3], [1], 0)),
    "last row of itself": (window([3, 3], [3, 1]), window([3], [1], 6)),
    "first column of itself": (window([3, 3], [3, 1]), window([3, 1], [3, 1], 0)),
    "one element of itself": (window([3, 3], [3, 1]), window([], [], 4)),
    "one element of itself, kept dims": (window([3, 3], [3, 1]), window([1, 1], [3, 1], 0)),
    "expanded row of itself": (window([3, 3], [3, 1]), window([3, 3], [0, 1], 0)),
    "expanded target": (window([3, 3], [0, 1]), contiguous([3, 3])),
    "expanded target, number of dims": (window([4], [0]), contiguous([4])),
    "expanded target of one row": (window([1, 3], [0, 1]), contiguous([1, 3])),
    "expanded target, one element": (window([1], [0]), contiguous([1])),
    "expanded target, empty": (window([0, 3], [0, 1]), contiguous([0, 3])),
    "expanded target and itself": (window([3, 3], [0, 1]), window([3, 3], [0, 1])),
    "overlapping target": (window([3, 3], [1, 1]), contiguous([3, 3])),
    "overlapping target, unfold": (window([4, 3], [2, 1]), contiguous([4, 3])),
    "overlapping target, unlucky strides": (window([2, 2], [3, 2]), contiguous([2, 2])),
    "dense but permuted target": (window([2, 3], [1, 2]), contiguous([2, 3])),
    "gappy target": (window([2, 3], [10, 3]), contiguous([2, 3])),
    "gappy target that crosses": (window([3, 3], [4, 3]), contiguous([3, 3])),
    "gappy target, same": (window([3, 3], [4, 3]), window([3, 3], [4, 3])),
    "expanded source": (contiguous([3, 3], "x"), window([3, 3], [0, 0], 0, "y")),
    "empty target in the middle": (window([0], [1], 2), window([0], [1], 2)),
    "0-d same": (window([], [], 3), window([], [], 3)),
    "0-d other element": (window([], [], 3), window([], [], 4)),
}
SHAPES = [
    ([2, 3], [3]), ([2, 3], [2, 1]), ([2, 3], []), ([3], [2, 3]), ([1, 3, 1], [3, 1, 7]),
    ([2, 3], [3, 2]), ([], [1]), ([], [2]), ([1], []), ([0], [1]), ([1], [0]), ([0], [3, 4]),
    ([0, 3], [1, 1]), ([1], [1, 1]), ([5, 3, 4, 1], [3, 1, 1]), ([4], [5]), ([2, 3], [2, 2, 3]),
    ([2, 3], [1, 2, 3]),
]  # fmt: skip


def build(operands, dtypes):
    """The tensors of a case: storage x counts from 1, storage y from 2 in steps of 1."""
    storages = {}
    tensors = []
    for operand, dtype in zip(operands, dtypes):
        key = operand["storage"]
        if key not in storages:
            start = 1 if key == "x" else 2
            storages[key] = torch.arange(start, start + SIZE).to(dtype)
        tensors.append(
            storages[key].as_strided(operand["shape"], operand["strides"], operand["offset"])
        )
    return storages, tensors


def listed(tensor):
    """Finite values as numbers, others as text."""
    return [
        v if isinstance(v, (bool, int)) or v == v and abs(v) < 1e300 else str(v)
        for v in tensor.flatten().tolist()
    ]


def run(case, operands, dtypes, call):
    """Add the answer to the case: the target's storage, or the refusal."""
    storages, tensors = build(operands, dtypes)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call(*tensors)
        case["storage"] = listed(storages[operands[0]["storage"]])
        case["shape"] = list(result.shape)
        texts = [str(w.message).partition("(Triggered")[0].strip() for w in caught]
        if texts:
            case["warning"] = texts[0]
    except (RuntimeError, TypeError, IndexError, NotImplementedError) as error:
        case["error"] = short(error)
    return case


def short(error):
    entry = failure(error)
    entry["text"] = (
        entry["text"].splitlines()[0] if "invalid combination" in entry["text"] else entry["text"]
    )
    return entry


def method(name):
    """The call of a method, or of a function that writes its first operand through `out=`."""
    if name.endswith("_"):
        return lambda target, *others: getattr(target, name)(*others)
    return lambda target, *others: getattr(torch, name)(target, *others, out=target)


def overlaps():
    cases = []
    for kind, operands in OVERLAPS.items():
        for name in BINARY:
            for dtype in (
                (torch.float32, torch.int64)
                if name in ("add_", "copy_", "mul_")
                else (torch.float32,)
            ):
                if name == "bitwise_and_":
                    dtype = torch.int32
                case = {"kind": kind, "fn": name, "dtype": NAMES[dtype], "operands": list(operands)}
                cases.append(run(case, operands, (dtype, dtype), method(name)))
        for name in ("neg_", "exp_", "relu_", "fill_", "zero_", "clamp_"):
            argument = {"fill_": (7,), "clamp_": (2, 4)}.get(name, ())
            case = {
                "kind": kind,
                "fn": name,
                "dtype": "float32",
                "operands": [operands[0]],
                "args": list(argument),
            }
            call = lambda t: method(name)(t, *argument)  # noqa: E731
            case = run(case, operands[:1], (torch.float32,), call)
            if name == "exp_" and "storage" in case:
                del case["storage"]  # Whether it is refused is the question; values are elsewhere.
            cases.append(case)
        # Three operands: the target is also an input in every place.
        target, other = operands
        for name in ("addcmul_", "lerp_", "addcdiv_", "where", "clamp", "masked_fill_"):
            picked = [target, other, other]
            case = {"kind": kind, "fn": name, "dtype": "float32", "operands": picked}
            dtypes = (torch.float32,) * 3
            calls = {
                "where": lambda t, a, b: torch.where(a > 3, a, b, out=t),
                "clamp": lambda t, a, b: torch.clamp(a, b, b, out=t),
                "masked_fill_": lambda t, a, b: t.masked_fill_(a > 3, -1),
            }
            cases.append(run(case, picked, dtypes, calls.get(name, method(name))))
        case = {"kind": kind, "fn": "add(out)", "dtype": "float32", "operands": [target, other]}
        cases.append(
            run(case, [target, other], (torch.float32,) * 2, lambda t, a: torch.add(a, a, out=t))
        )
        case = {"kind": kind, "fn": "sum(out)", "dtype": "float32", "operands": [target, other]}
        cases.append(
            run(
                case,
                [target, other],
                (torch.float32,) * 2,
                lambda t, a: torch.sum(a[None], 0, out=t),
            )
        )
    return cases


def shapes():
    cases = []
    for (left, right), name in itertools.product(
        SHAPES, ["add_", "copy_", "eq_", "addcmul_", "lerp_", "where", "masked_fill_"]
    ):
        operands = [contiguous(left, "x"), contiguous(right)]
        case = {"fn": name, "target": left, "other": right}
        x, y = torch.ones(left), torch.ones(right)
        calls = {
            "addcmul_": lambda: x.addcmul_(y, y),
            "lerp_": lambda: x.lerp_(y, 0.5),
            "where": lambda: torch.where(y > 0, y, y, out=x),
            "masked_fill_": lambda: x.masked_fill_(y > 0, 2),
        }
        del operands
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = calls.get(name, lambda: getattr(x, name)(y))()
            case["shape"] = list(result.shape)
            if caught:
                case["warning"] = str(caught[0].message).partition("(Triggered")[0].strip()
        except RuntimeError as error:
            case["error"] = failure(error)
        cases.append(case)
    return cases


def resizes():
    """`torch.add(a, b, out=o)`: what becomes of an `out` of another shape, dtype or layout."""
    cases = []
    outs = [[0], [0, 3], [2, 0], [2, 3], [3, 2], [6], [1], [], [7], [2, 3, 1], [1, 2, 3]]
    inputs = [([2, 3], [2, 3]), ([2, 3], [3]), ([], []), ([0], [1]), ([2, 1], [1, 3]), ([2], [3])]
    for shape, (left, right) in itertools.product(outs, inputs):
        a, b, o = torch.ones(left), torch.ones(right), torch.zeros(shape)
        cases.append(
            resize(
                {"fn": "add", "out": shape, "a": left, "b": right},
                o,
                lambda: torch.add(a, b, out=o),
            )
        )
    for shape in outs:
        o = torch.zeros(shape)
        cases.append(
            resize(
                {"fn": "sum", "dim": 0, "out": shape, "a": [2, 3]},
                o,
                lambda: torch.sum(torch.ones(2, 3), 0, out=o),
            )
        )
        o = torch.zeros(shape)
        cases.append(
            resize(
                {"fn": "exp", "out": shape, "a": [2, 3]},
                o,
                lambda: torch.exp(torch.ones(2, 3), out=o),
            )
        )
        o = torch.zeros(shape)
        cases.append(
            resize(
                {"fn": "matmul", "out": shape, "a": [2, 3], "b": [3, 3]},
                o,
                lambda: torch.matmul(torch.ones(2, 3), torch.ones(3, 3), out=o),
            )
        )
    o = torch.zeros(3, 2).t()
    cases.append(
        resize(
            {"fn": "add", "out": [2, 3], "out_strides": [1, 2], "a": [2, 3], "b": [3]},
            o,
            lambda: torch.add(torch.ones(2, 3), torch.ones(3), out=o),
        )
    )
    o = torch.zeros(1, 3).expand(2, 3)
    cases.append(
        resize(
            {"fn": "add", "out": [2, 3], "out_strides": [0, 1], "a": [2, 3], "b": [3]},
            o,
            lambda: torch.add(torch.ones(2, 3), torch.ones(3), out=o),
        )
    )
    return cases


def resize(case, out, call):
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        assert result is out
        case.update({"shape": list(out.shape), "strides": list(out.stride())})
        if caught:
            case["warning"] = str(caught[0].message).partition("(Triggered")[0].strip()
    except RuntimeError as error:
        case["error"] = failure(error)
    return case


def casts(texts):
    """Whether a target of one dtype takes the result with an operand of another."""
    tables = {}

    def answer(call):
        try:
            call()
            return 0
        except (RuntimeError, TypeError, NotImplementedError) as error:
            entry = short(error)
            if entry not in texts:
                texts.append(entry)
            return texts.index(entry) + 1

    one = lambda dtype: torch.tensor([1, 1]).to(dtype)  # noqa: E731
    every = list(DTYPES.values())
    for name in CAST_METHODS:
        tables[name] = [
            [answer(lambda: getattr(one(t), name)(one(o))) for o in every] for t in every
        ]
    for name in CAST_UNARY:
        tables[name] = [answer(lambda: getattr(one(t), name)()) for t in every]
    for name in CAST_OUT:
        # The operands share a dtype; rows are the dtype of `out`.
        tables[name + "(out)"] = [
            [answer(lambda: getattr(torch, name)(one(o), one(o), out=one(t))) for o in every]
            for t in every
        ]
    for name in ("exp", "abs", "sum", "neg"):
        tables[name + "(out)"] = [
            [
                answer(
                    lambda: getattr(torch, name)(
                        one(o),
                        **({"dim": 0} if name == "sum" else {}),
                        out=torch.empty((), dtype=t) if name == "sum" else one(t),
                    )
                )
                for o in every
            ]
            for t in every
        ]
    for value in (True, 2, 0.5, 1j):
        for name in ("add_", "mul_", "div_", "fill_", "pow_"):
            tables[f"{name}({value})"] = [
                answer(lambda: getattr(one(t), name)(value)) for t in every
            ]
    return tables


def main():
    texts = []
    tables = casts(texts)
    write_json(
        "in_place.json",
        provenance("in_place.py"),
        {
            "dtypes": list(DTYPES),
            "storage_size": SIZE,
            "cast_errors": texts,
            "casts": tables,
            "overlaps": overlaps(),
            "shapes": shapes(),
            "resizes": resizes(),
        },
    )


if __name__ == "__main__":
    main()
