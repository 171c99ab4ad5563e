"""Indexing, sorting, searching and their kind against NumPy, and against torch where it is installed: drawn cases."""

import numpy as np
import pytest
import zerostride as zs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
REAL = DTYPES[:-2]
SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)


def drawn(count):
    """So many cases, the same in every run."""
    return settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def laid_out(draw, array):
    """The array in some layout."""
    kind = draw(st.sampled_from(["row-major", "transposed", "reversed", "strided"]))
    if kind == "transposed":
        return np.asfortranarray(array)
    if kind == "reversed":
        return array[::-1].copy()[::-1]
    if kind == "strided":
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


@st.composite
def arrays(draw, dtypes=DTYPES, shapes=SHAPES):
    array = draw(hnp.arrays(draw(st.sampled_from(dtypes)), draw(shapes)))
    return laid_out(draw, array)


@st.composite
def keys(draw, shape):
    """A key that NumPy and PyTorch understand alike: no bare integers beside arrays."""
    if draw(st.integers(0, 5)) == 0:
        return draw(hnp.arrays(bool, shape))
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    with_arrays = draw(st.booleans())
    key, dim = [], 0
    while dim < len(shape):
        size, kind = shape[dim], draw(st.integers(0, 9))
        if kind == 0 and len(key) < 6:
            key.append(None)
            continue
        if kind == 1:
            key.append(Ellipsis)
            dim = draw(st.integers(dim, len(shape)))
            # What follows the ellipsis stands for the last dimensions.
            shape_left = shape[dim:]
            key += [draw(st.slices(size)) for size in shape_left]
            break
        if kind in (2, 3, 4) and with_arrays and size:
            stretched = draw(st.sampled_from([common, common[1:], (1,) * len(common)]))
            index = draw(hnp.arrays(np.int64, stretched or (1,), elements=st.integers(-size, size - 1)))
            key.append(index)
        elif kind == 5 and with_arrays and common == (1,):
            mask = np.zeros(size, bool)
            mask[: draw(st.integers(0, min(1, size)))] = True
            key.append(mask)
        elif kind in (6, 7) and size and not with_arrays:
            key.append(draw(st.integers(-size, size - 1)))
        else:
            key.append(draw(st.slices(size)))
        dim += 1
        if draw(st.integers(0, 4)) == 0:
            break
    return tuple(key)


@st.composite
def indexed(draw):
    array = draw(arrays())
    return array, draw(keys(array.shape))


def ours(key):
    """The key with arrays as tensors."""
    convert = lambda item: zs.tensor(item) if isinstance(item, np.ndarray) else item  # noqa: E731
    return tuple(map(convert, key)) if isinstance(key, tuple) else convert(key)


def same(found, wanted):
    found = found.numpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@drawn(700)
@given(indexed())
@example((np.arange(24).reshape(2, 3, 4), (np.array([0, 1]), slice(None), np.array([0, 3]))))
@example((np.arange(24).reshape(2, 3, 4), (slice(None), np.array([[0], [2]]), np.array([0, 3]))))
@example((np.zeros((0, 3)), (np.zeros((0, 3), bool),)))
@example((np.zeros(3), (slice(None, None, 2**62),)))
def test_reading_is_numpys(case):
    array, key = case
    try:
        wanted = array[key]
    except IndexError:
        with pytest.raises(IndexError):
            zs.asarray(array)[ours(key)]
        return
    same(zs.asarray(array)[ours(key)], np.asarray(wanted))
    same(zs.asarray(array)[key], np.asarray(wanted))


@drawn(200)
@given(indexed(), st.data())
def test_writing_is_numpys(case, data):
    array, key = case
    array = array.copy()
    tensor = zs.tensor(array)
    try:
        shape = array[key].shape
    except IndexError:
        return
    value = data.draw(hnp.arrays(array.dtype, data.draw(st.sampled_from([shape, shape[1:], ()]))))
    if isinstance(key, tuple) and any(isinstance(item, np.ndarray) for item in key):
        # Where an element is picked twice, which value stays is defined here, but not by NumPy.
        value = value.ravel()[0] if value.size else value
    array[key] = value
    tensor[ours(key)] = zs.asarray(np.asarray(value))
    same(tensor, array)


@drawn(200)
@given(arrays(REAL), st.data())
def test_sorting_is_numpys(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    tensor = zs.asarray(array)
    values, places = zs.sort(tensor, axis)
    same(values, np.sort(array, axis, kind="stable"))
    same(places, np.argsort(array, axis, kind="stable"))
    falling, places = zs.sort(tensor, axis, descending=True)
    same(falling, np.flip(np.sort(array, axis), axis))
    same(falling, np.take_along_axis(array, places.numpy(), axis))
    if array.shape[axis] and array.dtype != bool:
        k = data.draw(st.integers(0, array.shape[axis]))
        same(zs.topk(tensor, k, axis).values, falling.numpy().take(range(k), axis))


@drawn(200)
@given(arrays(REAL))
def test_sets_are_numpys(array):
    values, indices, inverse, counts = np.unique(array, True, True, True, equal_nan=False)
    found = zs.unique_all(zs.asarray(array))
    same(found.values, values)
    same(found.indices, indices)
    same(found.inverse_indices, inverse.reshape(array.shape))
    same(found.counts, counts)


@drawn(200)
@given(arrays())
def test_nonzero_places_are_numpys(array):
    tensor = zs.asarray(array)
    same(zs.nonzero(tensor), np.argwhere(array))
    assert zs.count_nonzero(tensor).item() == np.count_nonzero(array)
    same(zs.masked_select(tensor, tensor != 0), array[array != 0])


@drawn(200)
@given(st.sampled_from([name for name in REAL if name != "bool"]), st.data())
def test_insertion_places_are_numpys(dtype, data):
    elements = st.integers(0, 10) if np.dtype(dtype).kind == "u" else st.integers(-10, 10)
    row = np.sort(data.draw(hnp.arrays(dtype, st.integers(0, 9), elements=elements)))
    values = data.draw(hnp.arrays(dtype, SHAPES, elements=elements))
    for side in ("left", "right"):
        same(zs.searchsorted(zs.asarray(row), zs.asarray(values), side=side), np.searchsorted(row, values, side))


@drawn(200)
@given(arrays(["bool", "uint8", "int32", "int64", "uint64"]), st.data())
def test_running_totals_and_moves_are_numpys(array, data):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    tensor = zs.asarray(array)
    same(zs.cumsum(tensor, axis), np.cumsum(array, axis, dtype=np.int64))
    same(zs.cumprod(tensor, axis), np.cumprod(array, axis, dtype=np.int64))
    same(zs.diff(tensor, dim=axis), np.diff(array, axis=axis))
    shift = data.draw(st.integers(-9, 9))
    same(zs.roll(tensor, shift, axis), np.roll(array, shift, axis))
    same(zs.roll(tensor, shift), np.roll(array, shift))
    times = data.draw(st.integers(0, 3))
    same(zs.repeat_interleave(tensor, times, axis), np.repeat(array, times, axis))
    if array.shape[axis]:
        parts = data.draw(st.integers(1, 4))
        size = -(-array.shape[axis] // parts)
        wanted = np.split(array, range(size, array.shape[axis], size), axis)
        for found, part in zip(zs.chunk(tensor, parts, axis), wanted, strict=True):
            same(found, part)


@drawn(200)
@given(arrays(), st.data())
def test_gathering_and_scattering_undo_each_other(array, data):
    axis = data.draw(st.integers(0, array.ndim - 1))
    tensor = zs.asarray(array)
    order = np.argsort(np.random.default_rng(0).random(array.shape), axis)
    places = zs.asarray(order)
    shuffled = tensor.gather(axis, places)
    same(shuffled, np.take_along_axis(array, order, axis))
    same(zs.zeros_like(shuffled).scatter_(axis, places, shuffled), array)


def test_texts_are_pytorchs():
    x = zs.arange(20).reshape(4, 5)
    for run, error, text in [
        (lambda: x[zs.tensor([9])], IndexError, "index 9 is out of bounds for dimension 0 with size 4"),
        (lambda: x[zs.tensor([0.5])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
        (lambda: x["a"], IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got str)"),
        (lambda: x[zs.tensor([0, 1]), zs.tensor([0, 1, 2])], IndexError, "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]"),
        (lambda: x[zs.tensor([True, False])], IndexError, "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [4, 5] at index 0"),
        (lambda: x.__setitem__(zs.tensor([0, 1]), zs.arange(3)), RuntimeError, "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [2, 5]"),
        (lambda: x.sort(2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
        (lambda: x.topk(9), RuntimeError, "selected index k out of range"),
        (lambda: x.split(-1), RuntimeError, "split expects split_size be non-negative, but got split_size=-1"),
        (lambda: x.gather(1, zs.tensor([[7]])), RuntimeError, "index 7 is out of bounds for dimension 1 with size 5"),
        (lambda: zs.tensordot(x, x, 3), RuntimeError, "tensordot expects dims < ndim_a or ndim_b, but got dims=3"),
    ]:
        with pytest.raises(error) as caught:
            run()
        assert str(caught.value) == text


def test_what_is_read_only_stays_so():
    array = np.arange(6)
    array.flags.writeable = False
    tensor = zs.asarray(array)
    for write in (
        lambda: tensor.__setitem__(zs.tensor([0]), 1),
        lambda: tensor.__setitem__(tensor > 2, 1),
        lambda: tensor.scatter_(0, zs.tensor([0]), zs.tensor([1])),
        lambda: tensor.index_add_(0, zs.tensor([0]), zs.tensor([1])),
        lambda: tensor.masked_scatter_(tensor > 2, tensor + 1),
    ):
        with pytest.raises(ValueError):
            write()
    assert array.tolist() == [0, 1, 2, 3, 4, 5]


def test_traced_functions_index_by_views_only():
    @zs.fuse
    def head(x):
        return (x * 2)[:2, None]

    assert head(np.arange(3)).tolist() == [[0], [2]]

    @zs.fuse
    def picked(x):
        return (x * 2)[zs.tensor([0])]

    with pytest.raises(zs.TraceError, match="an index tensor picks elements of x \\* 2"):
        picked(np.arange(3))


@drawn(200)
@given(indexed())
def test_indexing_is_torchs(case):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    array, key = case
    # torch has no negative steps.
    if any(isinstance(item, slice) and item.step is not None and item.step < 0 for item in (key if isinstance(key, tuple) else ())):
        return
    theirs = lambda item: torch.tensor(item.copy()) if isinstance(item, np.ndarray) else item  # noqa: E731
    key_torch = tuple(map(theirs, key)) if isinstance(key, tuple) else theirs(key)
    tensor, other = zs.tensor(array), torch.tensor(array.copy())
    try:
        wanted = other[key_torch]
    except (IndexError, RuntimeError, NotImplementedError) as error:
        if "UInt" in str(error):
            return
        with pytest.raises(type(error)) as caught:
            tensor[ours(key)]
        assert str(caught.value) == str(error)
        return
    same(tensor[ours(key)], wanted.numpy())


def test_numbers_go_in_and_out_unrounded():
    x = zs.zeros(2, dtype=zs.float64)
    x[0] = 1e-5
    x[[1]] = 1e-5
    assert x.tolist() == [1e-5, 1e-5]
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        zs.zeros(1)[0] = 1e300
    largest = zs.bitwise_not(zs.zeros(1, dtype=zs.uint64))
    assert largest.tolist() == [2**64 - 1] == [largest.item()] == [int(largest)]


def test_values_without_dimensions_have_no_places():
    x = zs.tensor(1.0)
    for key, text in [
        (0, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"),
        (slice(None), "slice() cannot be applied to a 0-dim tensor."),
        ((slice(None),), "too many indices for tensor of dimension 0"),
    ]:
        with pytest.raises(IndexError) as caught:
            x[key]
        assert str(caught.value) == text
        with pytest.raises(IndexError) as caught:
            x[key] = 2
        assert str(caught.value) == text
    with pytest.raises(RuntimeError, match=r"^expand\(torch.LongTensor\{\[2, 3\]\}, size=\[3\]\)"):
        zs.ones(2, 3, dtype=zs.int64).expand(3)
    assert zs.broadcast_to(x, (2, 1)).broadcast_to(-1, 3).shape == (2, 3)


def test_results_share_no_memory_where_views_are_not_asked_for():
    x, y = zs.tensor([1, 2, 3], dtype=zs.uint8), zs.tensor([1.0, 2.0, 3.0], dtype=zs.float64)
    for result, of in [(x.clamp(-1), x), (x.clamp(-1, 1000), x), (y.float_power(1), y), (y.pow(1), y), (y[::2].ravel(), y)]:
        before = result.tolist()
        of.zero_()
        assert result.tolist() == before
        of.copy_(zs.tensor([1, 2, 3]))
    assert y.ravel().data_ptr() == y.data_ptr() and y[::1].flatten().data_ptr() == y.data_ptr()


def test_complex_numbers_are_picked_wherever_their_parts_may_lie():
    memory = np.arange(42, dtype="f4")
    x = memory[1:41].view("c8") if memory.ctypes.data % 8 == 0 else memory[:40].view("c8")
    assert x.ctypes.data % 8 == 4
    shared, picks = zs.asarray(x), np.array([3, 0, 3])
    for found in (shared[picks], shared.take(picks), shared.gather(0, picks), shared.index_select(0, picks)):
        assert found.tolist() == x[picks].tolist()
    assert shared[x.real > 5].tolist() == x[x.real > 5].tolist()
    expected = x.copy()
    np.add.at(expected, picks, x[:3])
    assert zs.scatter_add(shared, 0, picks, shared[:3]).tolist() == expected.tolist()
    shared.scatter_(0, np.array([1, 2]), zs.asarray([5j, 6j]).to(zs.complex64))
    assert x[1:3].tolist() == [5j, 6j]
