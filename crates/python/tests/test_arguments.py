"""Arguments that lie about their length, have none, or have far too many items: answered at once, in little memory."""

import re
import subprocess
import sys

import numpy as np
import pytest
import zerostride as zs


class Claims:
    """A list that says it has another length than it has, or cannot say."""

    def __init__(self, length, *items):
        self.length, self.items = length, items

    def __len__(self):
        if isinstance(self.length, Exception):
            raise self.length
        return self.length

    def __getitem__(self, at):
        return self.items[at]


class Endless:
    def __len__(self):
        return 2

    def __getitem__(self, at):
        return 1


class Raises:
    def __index__(self):
        raise ZeroDivisionError("in __index__")

    __float__ = __index__


class Appends:
    """An integer that makes the list longer which it is read from."""

    def __init__(self, into):
        self.into = into

    def __index__(self):
        self.into.append(1)
        return 0


HUGE = zs.ones(1, dtype=zs.int16).expand(2**40)
LARGE = {
    "tensor": HUGE,
    "matrix": HUGE.reshape(2**38, 4),
    "numpy": np.broadcast_to(np.int16(1), (2**40,)),
    "range": range(2**43),
    "long range": range(2**62),
    "longer range": range(2**64),
    "claimed": Claims(2**40, 1, 2),
    "list": [1] * 100,
    "endless": Endless(),
}
X = zs.arange(6, dtype=zs.float32).reshape(2, 3)
# Functions of something for which they want dimensions, sizes or lists.
WAYS = {
    "roll": lambda given: X.roll(given),
    "roll dims": lambda given: X.roll(1, given),
    "moveaxis": lambda given: zs.moveaxis(X, given, 0),
    "movedim to": lambda given: X.movedim(0, given),
    "squeeze": lambda given: X.squeeze(given),
    "permute_dims": lambda given: zs.permute_dims(X, given),
    "permute": lambda given: X.permute(given),
    "flip": lambda given: X.flip(given),
    "broadcast_shapes": lambda given: zs.broadcast_shapes((2, 3), given),
    "full": lambda given: zs.full(given, 1),
    "zeros": lambda given: zs.zeros(given),
    "expand": lambda given: X.expand(given),
    "reshape": lambda given: X.reshape(given),
    "repeat": lambda given: X.repeat(given),
    "sum_to_size": lambda given: X.sum_to_size(given),
    "sum": lambda given: X.sum(given),
    "std": lambda given: zs.std(X, dim=given),
    "count_nonzero": lambda given: X.count_nonzero(given),
    "nansum": lambda given: X.nansum(given),
    "tensordot": lambda given: zs.tensordot(X, X, (given, given)),
    "split": lambda given: X.split(given),
    "cat": lambda given: zs.cat(given),
    "stack": lambda given: zs.stack(given),
    "vstack": lambda given: zs.vstack(given),
    "meshgrid": lambda given: zs.meshgrid(given),
    "index_put": lambda given: X.index_put(given, X),
    "_report": lambda given: zs._zerostride._report("add", [given, [1]], 4),
    "_rebuild": lambda given: zs._zerostride._rebuild(b"", zs.float32, given),
}
# One vector is a grid of its own.
LEGAL = {("meshgrid", "tensor"), ("meshgrid", "matrix"), ("meshgrid", "numpy")}
ERRORS = (TypeError, ValueError, RuntimeError, IndexError, MemoryError)


@pytest.mark.parametrize(("way", "large"), [(way, large) for way in WAYS for large in LARGE if (way, large) not in LEGAL])
def test_no_list_is_longer_than_there_can_be_use_for(way, large):
    with pytest.raises(ERRORS):
        WAYS[way](LARGE[large])


def test_lists_are_refused_for_the_length_that_they_have():
    with pytest.raises(RuntimeError, match="a tensor of 1099511627776 dimensions is not supported: at most 64 are"):
        zs.moveaxis(X, HUGE, 0)
    with pytest.raises(ValueError, match="a list has 1099511627776 items or more, and a call takes at most 1048576"):
        zs.cat(HUGE)
    with pytest.raises(ValueError, match="a list has 1048577 items or more"):
        zs.stack(X for _ in iter(int, 1))


def test_an_array_is_explained_as_an_array():
    assert zs.explain(HUGE, (1,)).to_dict()["shape"] == [2**40]
    assert zs.explain(zs.tensor([5, 7]), np.array([[3], [2]])).to_dict()["shape"] == [2, 2]
    for large in ("range", "long range", "longer range", "claimed", "endless"):
        with pytest.raises(RuntimeError, match="at most 64"):
            zs.explain(LARGE[large])


def test_what_is_iterated_counts_and_not_what_is_claimed():
    assert X.squeeze(Claims(1, 0, 1)).shape == (2, 3)
    assert zs.full(Claims(3, 2, 3), 1).shape == (2, 3)
    assert [part.shape for part in X.split([1, 2], 1)] == [(2, 1), (2, 2)]
    assert zs.broadcast_shapes(3, [2, 1], np.array([4, 1, 1])) == (4, 2, 3)
    assert zs.tensordot(X, X, ([1], [1])).shape == zs.tensordot(X, X, (1, 1)).shape == (2, 2)
    for length, error in ((-1, ValueError), (KeyError("no"), KeyError)):
        for way in ("roll", "cat", "full"):
            with pytest.raises(error):
                WAYS[way](Claims(length, 1))
    growing = []
    growing.append(Appends(growing))
    assert X.squeeze(growing).shape == (2, 3)


def test_sizes_are_refused_as_by_torch():
    for make in (zs.zeros, zs.ones, zs.empty, zs.rand, zs.randn):
        with pytest.raises(TypeError, match="`size` is missing"):
            make()
        assert make(()).shape == make(size=()).shape == ()
    mismatch = "Attempting to broadcast a dimension of length -1 at -1! Mismatching argument at index 1 had (-1,); but expected shape should be broadcastable to [2]"
    with pytest.raises(RuntimeError, match=re.escape(mismatch)):
        zs.broadcast_shapes((2,), (-1,))
    for shapes in [((2,), (3,), (-1,)), ((2, 1), (-1, 5)), ((4, 2), (-1, 3)), ((0,), -1)]:
        with pytest.raises(RuntimeError):
            zs.broadcast_shapes(*shapes)
    for shapes in [((-1,), (2,)), ((2, 1), (-1, -1)), ((1,), (-1,)), ((3,), (-2, 3))]:
        with pytest.raises(ValueError, match="negative length"):
            zs.broadcast_shapes(*shapes)


def test_what_an_argument_raises_is_raised():
    for way in ("roll", "squeeze", "full", "zeros", "expand", "broadcast_shapes", "split", "sum", "tensordot"):
        with pytest.raises(ZeroDivisionError, match="in __index__"):
            WAYS[way]([Raises()])
    for call in (lambda: X.unsqueeze(Raises()), lambda: zs.zeros(Raises()), lambda: zs.linspace(0, 1, Raises())):
        with pytest.raises(ZeroDivisionError, match="in __index__"):
            call()
    with pytest.raises(zs.TraceError, match="An index"):
        zs.fuse(lambda x: X.roll(x.sum()))(X)


def test_integers_that_are_too_large_are_not_called_something_else():
    for error, calls in {
        ValueError: (lambda: X.unsqueeze(2**70), lambda: zs.eye(-(2**70))),
        TypeError: (lambda: zs.zeros(2**64), lambda: X.roll([2**70])),
    }.items():
        for call in calls:
            with pytest.raises(error, match="Overflow when unpacking long"):
                call()


def test_lists_of_numbers_are_read_as_long_as_they_say():
    class Shrinks(list):
        def __iter__(self):
            return iter(self[:-1])

    class Grows(list):
        def __iter__(self):
            yield from (1, 2, 3)

    for data, found in ((Shrinks([1, 2, 3]), "fewer"), (Grows([1, 2]), "more"), ([[1, 2], Shrinks([1, 2])], "fewer")):
        with pytest.raises(ValueError, match=f"had {found} items when it was read"):
            zs.tensor(data)
    itself = []
    itself.append(itself)
    deep = []
    for _ in range(10_000):
        deep = [deep]
    for data in (itself, deep):
        with pytest.raises(ValueError, match="nest more than 64 deep"):
            zs.tensor(data)
    around = [1]
    around.append(around)
    with pytest.raises(ValueError, match="expected a number at dim 1"):
        zs.tensor(around)
    with pytest.raises(RuntimeError, match=r"equal size, but got \[2\] at entry 0 and \[3\] at entry 1"):
        zs.tensor([np.ones(2), np.ones(3)])
    rows = [np.ones(2)]
    rows.append(rows)
    with pytest.raises(ValueError, match="nest more than 64 deep"):
        zs.tensor(rows)
    with pytest.raises(TypeError, match="of numbers, lists and arrays, not of object"):
        zs.tensor([np.ones(2), [object()]])


@pytest.mark.parametrize("of", [np.asarray, zs.asarray, list], ids=["numpy", "zerostride", "lists"])
def test_lists_of_arrays_are_stacked(of):
    row, other = np.arange(3.0), np.array([4, 5, 6])
    for data in ([row, other], [[row, row], [other, row]], (row,), [row, [7, 8, 9]], [[[row]], [[other]]]):
        wanted = np.array(data, np.float64)
        given = np.vectorize(of, signature="(n)->()", otypes=[object])(wanted)
        for lists in (data, given.tolist()):
            for make in (zs.tensor, zs.asarray):
                np.testing.assert_array_equal(make(lists, dtype=zs.float64).numpy(), wanted)
    assert zs.tensor([row, other]).dtype is zs.float64
    assert zs.tensor([other.astype(np.int8), other.astype(np.uint8)]).dtype is zs.int16
    assert zs.tensor([row, row], dtype=zs.float16).dtype is zs.float16
    assert zs.tensor([np.zeros(0), np.zeros(0)]).shape == (2, 0)
    table = zs.zeros(3, 3)
    table[0:2] = [of(row), of(other)]
    table[2] = [1, 2, 3]
    np.testing.assert_array_equal(table.numpy(), [[0, 1, 2], [4, 5, 6], [1, 2, 3]])


def test_numbers_of_numpy_keep_their_dtype_in_lists():
    for data, dtype in [
        ([np.float64(0.1)], "float64"), ([2, np.float64(0.1)], "float64"), ([np.float32(1), np.float64(2)], "float64"),
        ([np.int32(1)], "int32"), ([np.int8(1), np.uint8(2)], "int16"), ([np.uint8(1), 1.5], "float32"), ([[np.float16(2)]], "float16"),
        ([np.complex128(1)], "complex128"), ([np.bool_(True)], "bool"), ([np.array(2, np.int16)], "int16"), ([1, 2.5], "float32"),
        ([np.uint64(2**63)], "uint64"), ([zs.tensor(2.0, dtype=zs.bfloat16), 1], "bfloat16"),
    ]:  # fmt: skip
        made = zs.tensor(data)
        assert made.dtype is getattr(zs, dtype) and made.tolist() == data, data


@pytest.mark.parametrize(
    "make",
    [
        lambda: zs.tensor(range(2**43)),
        lambda: zs.asarray(range(2**62), dtype=zs.uint64),
        lambda: zs.zeros(2**50),
        lambda: zs.full((2**40, 2**10), 1.5),
        lambda: zs.arange(2**45),
        lambda: zs.linspace(0, 1, 2**45),
        lambda: zs.eye(2**24),
        lambda: zs.rand(2**50),
        lambda: zs.tensor(HUGE),
        lambda: HUGE + 1,
        lambda: HUGE.contiguous(),
        lambda: HUGE.split(1),
        lambda: HUGE.unbind(),
        lambda: zs.cat([HUGE, HUGE]),
        lambda: zs.ones(1).repeat(2**45),
        lambda: zs.evaluate("x + 1", x=HUGE),
    ],
)
def test_what_memory_does_not_hold_is_a_memory_error(make):
    with pytest.raises(MemoryError):
        make()


def test_no_list_takes_memory_before_it_is_refused():
    pytest.importorskip("resource")
    program = f"""
import resource, sys
sys.path.insert(0, {str(__file__.rsplit("/", 1)[0])!r})
import test_arguments as tests
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
for way in tests.WAYS.values():
    for large in tests.LARGE.values():
        try:
            way(large)
        except tests.ERRORS:
            pass
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) < 256 * 1024


ONES = zs.ones(2, 3)


@pytest.mark.parametrize(
    "call, plain",
    [
        (lambda: ONES.sum(np.int64(0)), lambda: ONES.sum(0)), (lambda: ONES.amax(zs.tensor(1)), lambda: ONES.amax(1)),
        (lambda: ONES.softmax(np.int32(-1)), lambda: ONES.softmax(-1)), (lambda: ONES.norm(np.float32(1), np.int8(0)), lambda: ONES.norm(1, 0)),
        (lambda: zs.add(ONES, ONES, alpha=np.int64(2)), lambda: zs.add(ONES, ONES, alpha=2)), (lambda: ONES.round(decimals=np.int64(1)), lambda: ONES),
        (lambda: ONES.var(0, correction=np.float64(0)), lambda: ONES.var(0, correction=0)), (lambda: ONES.any(0, keepdim=np.True_), lambda: ONES.any(0, keepdim=True)),
        (lambda: zs.fuse(lambda x: x.sum(axis=np.int64(0)))(np.ones((2, 3))), lambda: zs.tensor([2.0, 2.0, 2.0], dtype=zs.float64)),
        (lambda: zs.fuse(lambda x: np.expand_dims(x, np.int64(0)))(np.ones((2, 3))), lambda: ONES.double()[None]),
    ],
)  # fmt: skip
def test_numbers_of_numpy_and_tensors_without_dimensions_are_numbers(call, plain):
    found, wanted = zs.asarray(call()), plain()
    assert found.shape == wanted.shape and found.dtype == wanted.dtype and zs.equal(found, wanted)


@pytest.mark.parametrize("dtype, value", [(zs.int64, 2**63), (zs.int8, 2**64 - 1), (zs.uint64, -1), (zs.uint64, 2**64)])
def test_what_is_assigned_to_integers_is_no_longer_than_they(dtype, value):
    x = zs.zeros(2, dtype=dtype)
    for key in (0, slice(None), ..., [0], zs.tensor([True, False])):
        with pytest.raises((ValueError, OverflowError)):
            x[key] = value
    assert x.tolist() == [0, 0]


def test_integers_beside_floats_are_not_rounded_where_integers_are_wanted():
    assert zs.tensor([2**53 + 1, 1.5, True], dtype=zs.int64).tolist() == [2**53 + 1, 1, 1]
    assert zs.isin(zs.tensor([1, 44], dtype=zs.uint8), 300).tolist() == [False, True]  # As torch, which wraps.


def test_random_numbers_repeat_after_manual_seed():
    def drawn():
        like = zs.zeros(3, 4, dtype=zs.float64)
        return [zs.rand(5), zs.randn_like(like), zs.rand_like(like), zs.randint(-3, 9, (50,)), zs.randint(4, (2, 2)), zs.randperm(20)]

    zs.manual_seed(7)
    first, second = drawn(), drawn()
    zs.manual_seed(7)
    assert all(map(zs.equal, first, drawn()))
    assert not any(map(zs.equal, first, second))
    assert first[1].dtype == zs.float64 and first[1].shape == (3, 4)
    assert set(first[3].tolist()) <= set(range(-3, 9)) and set(first[4].reshape(-1).tolist()) <= set(range(4))
    assert sorted(first[5].tolist()) == list(range(20))
    with pytest.raises(RuntimeError, match="random_ expects 'from' to be less than 'to', but got from=5 >= to=5"):
        zs.randint(5, 5, (2,))
