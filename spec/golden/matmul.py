"""Matrix products: every combination of ranks 1 to 4, batches that broadcast, and refusals.

Owns `matmul.json`. Operands hold small integers, so that the values are exact in every dtype.
"""

import itertools

import torch

from operations import DTYPES, NAMES, failure
from store import provenance, write_json

SHAPES = [
    [], [0], [1], [2], [3],
    [0, 0], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2], [2, 3], [3, 2], [3, 3], [2, 0], [3, 0],
    [1, 2, 3], [2, 2, 3], [2, 3, 2], [3, 2, 3], [0, 2, 3], [1, 3, 2], [3, 3, 2], [2, 0, 3], [2, 3, 0],
    [2, 1, 2, 3], [1, 3, 3, 2], [2, 3, 3, 2], [2, 2, 2, 3], [0, 3, 3, 2], [1, 1, 2, 3], [4, 1, 3, 2],
]  # fmt: skip


def filled(shape, start):
    """Small integers that repeat with period 7, both signs."""
    size = 1
    for extent in shape:
        size *= extent
    return ((torch.arange(size, dtype=torch.int64) + start) % 7 - 3).reshape(shape)


def product(a, b):
    """One case: shape and values, or the refusal."""
    case = {"a": list(a.shape), "b": list(b.shape)}
    try:
        result = torch.matmul(a.float(), b.float())
    except RuntimeError as error:
        case["error"] = failure(error)
        return case
    case["shape"] = list(result.shape)
    case["values"] = [int(v) for v in result.flatten().tolist()]
    return case


def dtype_pairs():
    """Which dtypes multiply: a two-dimensional, a one-dimensional and a batched product."""
    rows = []
    for left, right in itertools.product(DTYPES.values(), repeat=2):
        row = {"a": NAMES[left], "b": NAMES[right]}
        for kind, (p, q) in {
            "mm": ([2, 3], [3, 2]),
            "dot": ([3], [3]),
            "mv": ([2, 3], [3]),
            "bmm": ([2, 2, 3], [2, 3, 2]),
        }.items():
            try:
                row[kind] = NAMES[
                    torch.matmul(torch.ones(p).to(left), torch.ones(q).to(right)).dtype
                ]
            except RuntimeError as error:
                row[kind] = failure(error)
        rows.append(row)
    return rows


def main():
    tensors = [(filled(s, 1), filled(s, 4)) for s in SHAPES]
    cases = [product(a, b) for (a, _), (_, b) in itertools.product(tensors, repeat=2)]
    write_json(
        "matmul.json",
        provenance("matmul.py"),
        {"cases": cases, "dtypes": dtype_pairs()},
    )


if __name__ == "__main__":
    main()
