"""The shape rule: all pairs of rank <= 4 and sizes 0..3, all triples of rank <= 3 and sizes 0..2.

Owns `shapes_pairs.{json,npz}` and `shapes_triples.{json,npz}`. Every stored number was read from
PyTorch's answer; where a text is reduced to a template, the script has compared the whole text.
"""

import itertools
import re

import numpy
import torch

from operations import failure
from store import provenance, write_json, write_npz

MISMATCH = (
    "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}"
)
TARGET = "output with shape {} doesn't match the broadcast shape {}"
BROADCAST_SHAPES = (
    "Attempting to broadcast a dimension of length {} at {}! Mismatching argument at index {} "
    "had {}; but expected shape should be broadcastable to {}"
)
NUMBERS = re.compile(r"\((\d+)\).*\((\d+)\).* (\d+)$")


def shapes(rank, sizes):
    """All shapes up to `rank`: by rank, then by sizes with the last dimension fastest."""
    return [s for r in range(rank + 1) for s in itertools.product(range(sizes), repeat=r)]


def mismatch(error):
    """(size of a, size of b, dimension), after a check that the text is exactly the template."""
    text = str(error)
    found = tuple(int(digit) for digit in NUMBERS.search(text).groups())
    assert type(error) is RuntimeError and text == MISMATCH.format(*found), text
    return found


def padded(rank, shape):
    """The shape in a row of `rank` cells, left aligned, -1 beyond its end."""
    return list(shape) + [-1] * (rank - len(shape))


def listed(shape):
    """A shape as PyTorch's C++ prints it."""
    return "[" + ", ".join(map(str, shape)) + "]"


def pair(a, b, x, y):
    """One pair's answers: (result or None, mismatch or None, in-place code)."""
    try:
        result, failed = tuple((x + y).shape), None
    except RuntimeError as error:
        result, failed = None, mismatch(error)
    try:
        x.clone().add_(y)
        code = 0
    except RuntimeError as error:
        if result is None:
            assert mismatch(error) == failed
            code = 1
        else:
            assert str(error) == TARGET.format(listed(a), listed(result)), str(error)
            code = 2
    try:
        assert tuple(torch.broadcast_shapes(a, b)) == result
    except RuntimeError as error:
        assert failed is not None
        assert folded([a, b], failed, error) == 1
    return result, failed, code


def pairs():
    every = shapes(4, 4)
    tensors = [torch.ones(shape) for shape in every]
    count = len(every) ** 2
    results = numpy.full((count, 4), -1, numpy.int8)
    ranks = numpy.full(count, -1, numpy.int8)
    failures = numpy.full((count, 3), -1, numpy.int8)
    in_place = numpy.zeros(count, numpy.int8)
    row = 0
    for a, x in zip(every, tensors):
        for b, y in zip(every, tensors):
            result, failed, in_place[row] = pair(a, b, x, y)
            if result is None:
                failures[row] = failed
            else:
                ranks[row] = len(result)
                results[row] = padded(4, result)
            row += 1
    write_npz(
        "shapes_pairs.npz",
        {
            "shapes": numpy.array([padded(4, s) for s in every], numpy.int8),
            "result_rank": ranks,
            "result": results,
            "mismatch": failures,
            "in_place": in_place,
        },
    )
    write_json(
        "shapes_pairs.json",
        provenance("shapes.py"),
        {
            "count": count,
            "broadcastable": int((ranks >= 0).sum()),
            "class": "RuntimeError",
            "mismatch_template": MISMATCH,
            "in_place_codes": ["done", "mismatch", "output with shape"],
            "in_place_template": TARGET,
            "broadcast_shapes_template": BROADCAST_SHAPES,
        },
    )


def where(x, y, z):
    return torch.where(x > 0, y, z)


def clamp(x, y, z):
    return torch.clamp(x, y, z)


TERNARY = {
    "addcmul": torch.addcmul,
    "addcdiv": torch.addcdiv,
    "where": where,
    "clamp": clamp,
    "lerp": torch.lerp,
    "broadcast_tensors": lambda *t: torch.broadcast_tensors(*t)[0],
    "x + y + z": lambda x, y, z: x + y + z,
}


def triple(tensors):
    """The answers of every n-ary way, as {way: result shape or mismatch}."""
    answers = {}
    for name, call in TERNARY.items():
        try:
            answers[name] = ("shape", tuple(call(*tensors).shape))
        except RuntimeError as error:
            answers[name] = ("mismatch", mismatch(error))
    return answers


def triples():
    every = shapes(3, 3)
    tensors = [torch.ones(shape) for shape in every]
    count = len(every) ** 3
    results = numpy.full((count, 3), -1, numpy.int8)
    ranks = numpy.full(count, -1, numpy.int8)
    failures = numpy.full((count, 3), -1, numpy.int8)
    argument = numpy.zeros(count, numpy.int8)
    differing = {name: 0 for name in TERNARY}
    first = {}
    for row, picked in enumerate(itertools.product(range(len(every)), repeat=3)):
        abc = [every[i] for i in picked]
        answers = triple([tensors[i] for i in picked])
        kind, value = answers["addcmul"]
        for name, other in answers.items():
            if other != (kind, value):
                differing[name] += 1
                first.setdefault(name, {"shapes": abc, "addcmul": value, name: other[1]})
        try:
            assert ("shape", tuple(torch.broadcast_shapes(*abc))) == (kind, value)
        except RuntimeError as error:
            assert kind == "mismatch"
            argument[row] = folded(abc, value, error)
        if kind == "shape":
            ranks[row] = len(value)
            results[row] = padded(3, value)
        else:
            failures[row] = value
    write_npz(
        "shapes_triples.npz",
        {
            "shapes": numpy.array([padded(3, s) for s in every], numpy.int8),
            "result_rank": ranks,
            "result": results,
            "mismatch": failures,
            "broadcast_shapes_index": argument,
        },
    )
    write_json(
        "shapes_triples.json",
        provenance("shapes.py"),
        {
            "count": count,
            "broadcastable": int((ranks >= 0).sum()),
            "class": "RuntimeError",
            "mismatch_template": MISMATCH,
            "broadcast_shapes_template": BROADCAST_SHAPES,
            "same_answer": [name for name in TERNARY if not differing[name]],
            "differing": {n: {"count": c, "first": first[n]} for n, c in differing.items() if c},
        },
    )


def folded(abc, value, error):
    """The index of the argument that `torch.broadcast_shapes` blames; its whole text is checked.

    The mismatch `value` of the operations must name the same sizes and the same dimension.
    """
    rank = max(map(len, abc))
    expected = [1] * rank
    for index, shape in enumerate(abc):
        for back in range(1, len(shape) + 1):
            size = shape[-back]
            if size == 1 or expected[-back] == size:
                continue
            if expected[-back] != 1:
                text = BROADCAST_SHAPES.format(size, -back, index, str(shape), listed(expected))
                assert failure(error) == {"class": "RuntimeError", "text": text}, str(error)
                # TensorIterator counts dimensions in the fold so far, not in the final result.
                assert value == (expected[-back], size, max(map(len, abc[: index + 1])) - back)
                return index
            expected[-back] = size
    raise AssertionError(f"{abc} broadcast, but PyTorch said {error}")


def main():
    pairs()
    triples()


if __name__ == "__main__":
    main()
