"""How PyTorch prints a tensor: `str(tensor)` of every dtype and layout rule of the printer.

Owns `printing.json`. Data are bit patterns as hexadecimal words, so that no decimal is parsed twice.
"""

import numpy
import torch

from bits import WIDTHS, from_bits, to_bits
from operations import DTYPES, NAMES
from store import provenance, write_json

NAN, INF = float("nan"), float("inf")
FLOATS = {
    "integers": [1.0, 2.0, 3.0], "integers and zero": [0.0, -1.0, 10.0], "fractions": [0.5, 1.25, -2.0],
    "four digits": [0.1, 0.12345678, 3.14159265], "large integers": [1e8, 1.0], "1e7": [1e7, 2.0],
    "large ratio": [1000.5, 0.5], "ratio over 1000": [1001.5, 1.0], "ratio at 1000": [1000.0, 1.0, 0.5],
    "small": [1e-4, 1.0], "below 1e-4": [9e-5, 1.0], "below 1e-4 alone": [9e-5], "1e-4 alone": [1e-4],
    "1e8": [1e8], "over 1e8": [1.1e8], "over 1e8 with fraction": [123456789.5, 0.5],
    "integer valued, large": [123456.0, 1.0], "integer valued, huge": [1e15, 1.0], "1e16": [1e16],
    "nan": [NAN, 1.0], "nan alone": [NAN], "inf": [INF, 1.0], "-inf": [-INF, 1.5], "all specials": [NAN, INF, -INF],
    "nan with fraction": [NAN, 0.5, 100.25], "inf with sci": [INF, 1e-8, 1.0], "negative zero": [-0.0, 0.0],
    "negative": [-1.5, 2.5], "negative integers": [-1.0, 20.0, -300.0], "all zero": [0.0, 0.0],
    "subnormal": [1e-40, 1.0], "largest": [3.4e38, 1.0], "mixed magnitudes": [1e-3, 1e3], "sci negative": [-1e-5, 1e5],
    "rounds up": [0.99999, 1.99995], "0.00005": [0.00005], "zero and small": [0.0, 1e-5], "near integer": [1.0000001, 2.0],
}  # fmt: skip
SCALARS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    1.5,
    100.0,
    1e4,
    12345.678,
    1e-4,
    9e-5,
    1e8,
    1.5e8,
    1e20,
    NAN,
    INF,
    -INF,
    3.14159265358979,
]
COMPLEX = {
    "integers": [1 + 2j, -3 + 0j], "fractions": [0.5 - 1.25j, 2j], "nan": [complex(NAN, 1), 1 + 1j], "inf": [complex(INF, -INF), 0j],
    "large and small": [1e5 + 1e-5j, 1 + 1j], "small parts": [1 + 1e-5j, 2 + 2e-5j], "negative zero": [complex(-0.0, -0.0), 1j],
    "wide": [123456 + 0.5j, 1 - 2000j],
}  # fmt: skip
EMPTY = [[0], [0, 3], [3, 0], [2, 0, 4], [0, 0]]
SHAPES = [
    [1],
    [1, 1],
    [2, 3],
    [2, 2, 2],
    [1, 2, 1, 3],
    [2, 1, 2, 2, 1],
    [3, 1],
    [1, 3],
    [30],
    [5, 25],
    [2, 30],
    [3, 2, 12],
]
SUMMARISED = [
    [1000],
    [1001],
    [1200],
    [7, 143],
    [11, 91],
    [2, 600],
    [600, 2],
    [6, 200],
    [5, 5, 50],
    [7, 7, 21],
    [3, 3, 3, 40],
    [8, 2, 70],
    [1001, 1],
]


def case(what, x):
    """One tensor with its text."""
    name = NAMES[x.dtype]
    digits = WIDTHS[name] // 4
    data = [f"{int(p):0{digits}x}" for p in to_bits(x)]
    entry = {"what": what, "dtype": name, "shape": list(x.shape), "text": str(x)}
    if (
        len(data) > 100
        and x.dtype in (torch.int64, torch.float32)
        and torch.equal(x.flatten(), ramp(x))
    ):
        entry["ramp"] = ramp_step(x)
    else:
        entry["bits"] = data
    return entry


def ramp_step(x):
    """The step of a tensor whose elements are 0, step, 2 * step, ..."""
    return x.flatten()[1].item()


def ramp(x):
    return torch.arange(x.numel()).to(x.dtype) * x.flatten()[1]


def numbers(dtype):
    """Ordinary integers of a dtype."""
    values = [0, 1, 2, 10, 100]
    return torch.tensor(values + ([-1, -100] if torch.iinfo(dtype).min < 0 else [])).to(dtype)


def cases():
    for name, dtype in DTYPES.items():
        if dtype.is_complex:
            for what, values in COMPLEX.items():
                yield f"{what}", torch.tensor(values, dtype=dtype)
            yield "0-d", torch.tensor(1 - 2.5j, dtype=dtype)
            yield "0-d integers", torch.tensor(3 + 4j, dtype=dtype)
        elif dtype.is_floating_point:
            for what, values in FLOATS.items():
                yield what, torch.tensor(values, dtype=dtype)
            for value in SCALARS:
                yield "0-d", torch.tensor(value, dtype=dtype)
        elif dtype == torch.bool:
            yield "both", torch.tensor([True, False])
            yield "matrix", torch.tensor([[True, True], [False, True]])
            yield "0-d", torch.tensor(True)
        else:
            info = torch.iinfo(dtype)
            yield "ordinary", numbers(dtype)
            yield "extremes", torch.tensor([info.min, info.max, 0], dtype=dtype)
            yield "0-d", torch.tensor(7, dtype=dtype)
            yield "matrix", torch.tensor([[1, 20], [100, 3]], dtype=dtype)
        for shape in EMPTY[:2] if name not in ("float32", "int64") else EMPTY:
            yield "empty", torch.empty(shape, dtype=dtype)
    for shape in SHAPES:
        size = int(numpy.prod(shape))
        yield "shape", torch.arange(size).reshape(shape)
        yield "shape", (torch.arange(size, dtype=torch.float32) * 0.25).reshape(shape)
        yield "shape, signs", ((torch.arange(size, dtype=torch.float64) - 2) * 1.37).reshape(shape)
    yield "wrapped bools", torch.arange(40).remainder(3) == 0
    yield "wrapped complex", torch.complex(torch.arange(12.0), -torch.arange(12.0) / 4)
    yield "wrapped sci", torch.arange(20, dtype=torch.float64) * 1e10 + 0.5
    for shape in SUMMARISED:
        size = int(numpy.prod(shape))
        yield "summarised", torch.arange(size).reshape(shape)
        yield "summarised", (torch.arange(size, dtype=torch.float32) * 0.5).reshape(shape)
    hidden = torch.ones(1100)
    hidden[500] = 1e9
    yield "summarised, the largest is hidden", hidden
    yield "summarised with nan at the edge", torch.cat([torch.tensor([NAN]), torch.arange(1100.0)])
    yield "summarised bools", torch.arange(1100).remainder(2) == 0
    yield "strided view", torch.arange(6.0).reshape(2, 3).t()
    yield "expanded view", torch.tensor([1.0, 2.0]).expand(3, 2)


def main():
    entries = []
    for what, x in cases():
        entry = case(what, x)
        restored = from_bits(
            numpy.array([int(b, 16) for b in entry.get("bits", [])], "uint64"), entry["dtype"]
        )
        assert "ramp" in entry or torch.equal(
            restored.reshape(x.shape).nan_to_num(), x.contiguous().nan_to_num()
        )
        entries.append(entry)
    write_json(
        "printing.json",
        provenance("printing.py", threshold=1000, edgeitems=3, linewidth=80, precision=4),
        {"cases": entries},
    )


if __name__ == "__main__":
    main()
