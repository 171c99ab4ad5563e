"""Bools whose bytes are neither 0 nor 1, as NumPy makes by looking at integers as bools: every function counts them as true."""

import warnings

import numpy as np
import pytest
import zerostride as zs
from every import calls, values

BYTES = np.array([0, 1, 2, 128, 255, 0, 254, 3, 64, 0, 0, 7], dtype=np.uint8)
LAYOUTS = {
    "row": lambda bytes: bytes,
    "columns": lambda bytes: bytes.reshape(4, 3).T,
    "every second backwards": lambda bytes: np.repeat(bytes, 2)[::-2],
    "long": lambda bytes: np.tile(bytes, 200).reshape(-1, 3),
    "one": lambda bytes: bytes[3:4],
}
FEW = [(), ("again",), (0,)]
OTHERS = [
    *FEW, ("again", "again"), (1,), (-1,), (0.5,), (2, 0), (0, 1), ("places",), (0, "places"), (0, "places", "again"), ("numbers",),
    ("numbers", "again"), ("again", "numbers", "numbers"), ("again", 1, 0), ([1],), (zs.float32,), (zs.uint8,),
]  # fmt: skip


def outcome(function, bytes, others):
    """What a call gives on bools of these bytes, and what it leaves in them; or the kind of its refusal."""
    x = zs.asarray(bytes().view(bool))
    named = {
        "again": lambda: zs.asarray(bytes().view(bool)),
        "places": lambda: zs.zeros(*x.shape, dtype=zs.int64),
        "numbers": lambda: zs.arange(x.numel(), dtype=zs.float32).reshape(x.shape),
    }
    arguments = [named[other]() if isinstance(other, str) else other for other in others]
    try:
        found = function(x, *arguments)
    except Exception as error:
        return type(error).__name__
    return values(found), values(x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_function_counts_every_byte_but_0_as_true(layout):
    raw, plain = (lambda: LAYOUTS[layout](BYTES.copy())), (lambda: LAYOUTS[layout]((BYTES != 0).astype(np.uint8)))
    wrong, taken = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in calls():
            for others in FEW if layout == "long" else OTHERS:
                found, wanted = outcome(function, raw, others), outcome(function, plain, others)
                if not isinstance(wanted, str):
                    taken.add(name)
                if found != wanted:
                    wrong.append((name, others, str(found)[:150], str(wanted)[:150]))
    assert not wrong, wrong
    assert len(taken) > 350, len(taken)


def test_reductions_are_those_of_numpy():
    for length in (1, 7, 200, 1024, 100_000):
        for first in (0, 128):
            bytes = np.resize(np.array([2, 128, 255, 1], dtype=np.uint8), length)
            bytes[0] = first
            x, wanted = zs.asarray(bytes.view(bool)), bytes != 0
            results = [zs.sum, zs.prod, zs.amax, zs.amin, zs.all, zs.any, lambda x: x.float().sum(), lambda x: (~x).sum()]
            expected = [wanted.sum(), wanted.all(), wanted.any(), wanted.all(), wanted.all(), wanted.any(), wanted.sum(), (~wanted).sum()]
            assert [result(x).item() for result in results] == expected
            assert [value.item() for value in zs.fuse(lambda x: [result(x) for result in results])(x)] == expected
