"""NumPy's own functions on tensors, which NumPy computes on the same memory, and on arrays that NumPy cannot hold."""

import collections

import numpy as np
import pytest
import zerostride as zs

X = np.arange(12.0).reshape(3, 4) % 5
I = np.array([[2, 0, 1], [1, 2, 0]])


@pytest.mark.parametrize(
    "run",
    [
        lambda x: np.exp(x), lambda x: np.add(x, 1), lambda x: np.power(x, 2), lambda x: np.sum(x, axis=0), lambda x: np.mean(x),
        lambda x: np.std(x, axis=1, ddof=1), lambda x: np.clip(x, 1, 3), lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.sort(x, axis=0), lambda x: np.cumsum(x, axis=1), lambda x: np.where(x > 2, x, 0), lambda x: np.unique(x),
        lambda x: np.add.reduce(x), lambda x: np.add.reduce(x, axis=None), lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
        lambda x: np.flip(x), lambda x: np.roll(x, 1, 0), lambda x: np.tile(x, 2), lambda x: np.nanmax(x), lambda x: np.tril(x),
    ],
)  # fmt: skip
def test_functions_that_mean_the_same_give_tensors(run):
    found, wanted = run(zs.asarray(X)), run(X)
    assert isinstance(found, zs.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: np.median(x, axis=1), lambda x: np.quantile(x, [0.1, 0.9]), lambda x: np.allclose(x, x), lambda x: np.array_equal(x, X),
        lambda x: np.linalg.svd(x)[1], lambda x: np.add.accumulate(x, axis=1), lambda x: np.subtract.outer(x, x), lambda x: np.histogram(x)[0],
        lambda x: np.add(x, 1, where=X > 2, out=np.zeros((3, 4))), lambda x: np.modf(x / 3)[0], lambda x: np.block([[x, x]]), lambda x: np.add(x, 1, dtype="f4"),
        lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.interp(x, [0, 5], [1, 2]), lambda x: np.cov(x), lambda x: np.shape(x), lambda x: np.pad(x, 1),
        lambda x: np.add.reduce(x, where=X > 1), lambda x: np.spacing(x), lambda x: np.divmod(x, 2)[1],
    ],
)  # fmt: skip
def test_other_functions_compute_in_numpy(run):
    np.testing.assert_allclose(np.asarray(run(zs.asarray(X))), np.asarray(run(X)))


def test_what_numpy_writes_is_seen():
    x = zs.zeros(3, 3)
    np.copyto(x, X[:, :3])
    assert x.tolist() == X[:, :3].tolist()
    np.fill_diagonal(x, 9)
    assert x[1, 1].item() == 9
    np.add.at(x, ([0, 0], [1, 1]), 1)
    assert x[0, 1].item() == X[0, 1] + 2
    out = zs.zeros(3)
    assert np.add(x[0], 1, where=np.array([True, False, True]), out=out) is out
    assert out.tolist() == [10, 0, x[0, 2].item() + 1]
    assert np.multiply(x, 2, out=x) is x
    assert np.shares_memory(x, x[1:])


def test_tensors_stand_in_numpys_lists_and_indexes():
    x = zs.asarray(X)
    assert np.stack([x, x]).shape == (2, 3, 4)
    np.testing.assert_array_equal(X[:, zs.asarray(I)], X[:, I])
    np.testing.assert_array_equal(np.take(x, I, axis=0), X[I])
    assert isinstance(X + x, zs.Tensor)
    y = X.copy()
    y += x
    assert isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, 2 * X)


def test_what_is_given_to_write_to_is_returned():
    x, out = zs.asarray(X.copy()), zs.zeros(4, dtype=zs.float64)
    assert np.sum(x, axis=0, out=out) is out
    assert out.tolist() == X.sum(0).tolist()
    assert np.add.reduce(x, out=(out,)) is out
    array = np.zeros(4)
    assert np.sum(x, axis=0, out=array) is array
    assert np.round(x, 1, x) is x
    parts = np.modf(x, out=(None, x))
    assert isinstance(parts[0], zs.Tensor) and parts[1] is x


@pytest.mark.parametrize("write", [lambda x: np.add(x, 1, out=x), lambda x: np.copyto(x, 5), lambda x: np.put(x, 0, 1)])
@pytest.mark.parametrize("x", [zs.zeros(1, 3).expand(2, 3), zs.asarray(np.broadcast_to(X[0], (2, 4)))])
def test_read_only_and_expanded_tensors_are_not_written_to(write, x):
    with pytest.raises(ValueError, match="read-only"):
        write(x)
    assert x[1].tolist() == x[0].tolist() == x[0].clone().tolist()


def test_views_stay_views_of_the_tensor_however_often():
    x = zs.asarray(X.copy())
    view = np.transpose(x)
    assert view.data_ptr() == x.data_ptr()
    view[0, 0] = 9
    assert x[0, 0].item() == 9
    for _ in range(100_000):
        x = np.swapaxes(x, 0, 1)
    del x


def test_tensors_are_found_in_whatever_numpy_looks_into():
    x = zs.asarray(X)
    pair, objects = collections.namedtuple("Pair", "a b")(x, x), np.empty(2, object)
    objects[:] = [x, x]
    for several in ([x, x], (x, x), pair, collections.deque([x, x]), objects):
        found = np.stack(several)
        assert isinstance(found, zs.Tensor) and found.shape == (2, 3, 4)


def test_operators_with_an_array_or_number_on_the_left_are_operators():
    t = zs.ones(3)
    for left in (np.arange(3), np.arange(3.0), np.float64(2), np.int8(2), np.array(2.5)):
        for run in (lambda a, b: a + b, lambda a, b: a * b):
            found, wanted = run(left, t), run(t, left)
            assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())
    assert (np.arange(1, 4) / zs.tensor([1, 2, 3])).dtype is zs.float32
    assert (np.array(["a", "b", "c"]) == t).tolist() == [False] * 3
    assert (np.array([1, 2, 3], object) + t).tolist() == [2, 3, 4]


def test_a_policy_sees_what_numpy_broadcasts():
    with zs.policy(mutual_stretch="error"):
        for run in (np.add, np.arctan2, np.isclose, lambda a, b: np.where(a > 0, a, b)):
            with pytest.raises(zs.BroadcastError):
                run(zs.ones(3, 1), zs.ones(3))
        np.add(zs.ones(3, 1), 1)


def test_arrays_of_tensors_are_copied_only_where_that_is_allowed():
    x = zs.asarray(X)
    assert np.shares_memory(x.__array__(copy=False), x) and np.shares_memory(np.array(x, copy=None), x)
    assert not np.shares_memory(x.__array__(copy=True), x) and not np.shares_memory(np.array(x), x)
    for dtype in ("f4", np.float32, zs.float32, np.dtype("f4")):
        assert x.__array__(dtype).dtype == np.asarray(x, dtype=dtype).dtype == np.float32
        with pytest.raises(ValueError):
            x.__array__(dtype, copy=False)
        with pytest.raises(ValueError):
            np.array(x, dtype=dtype, copy=False)
    assert np.shares_memory(x.__array__("f8", copy=False), x)
    assert isinstance(x.__array_wrap__(X), zs.Tensor) and isinstance(x.__array_wrap__(X[0], None, True), zs.Tensor)


def test_what_asks_no_protocol_takes_tensors_as_arrays(tmp_path):
    x = zs.asarray(X)
    np.testing.assert_allclose(x, X)
    np.testing.assert_array_equal(np.vectorize(lambda a: a + 1)(x), X + 1)
    np.testing.assert_array_equal([value for value in np.nditer(x)], X.ravel())
    np.testing.assert_array_equal(np.ma.masked_greater(x, 3).mask, X > 3)
    np.testing.assert_array_equal(np.lib.stride_tricks.as_strided(x[0], (2,)), X[0, :2])
    assert np.random.default_rng(0).permutation(x).shape == (3, 4)
    np.save(tmp_path / "x.npy", x)
    np.savetxt(tmp_path / "x.txt", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.loadtxt(tmp_path / "x.txt"))


# Of `x`, a matrix of each dtype. Traced arrays have the dtypes and the values that NumPy's arrays have.
TRACED = """
np.sum(x) | np.sum(x, 1, keepdims=True) | np.sum(x, axis=()) | np.prod(x, axis=0) | np.sum(x, dtype="f8") | np.mean(x) | np.mean(x, 1, "f8") | np.std(x, 1, ddof=1)
np.var(x, axis=0, keepdims=True) | np.max(x) | np.min(x, 1) | np.amax(x, axis=()) | np.argmax(x, axis=1, keepdims=True) | np.argmin(x) | np.all(x, 1) | np.any(x) | np.nansum(x)
np.nansum(x, 1) | np.nanprod(x, 0) | np.nanmax(x) | np.nanmax(x, 1) | np.nanmin(x, axis=1, keepdims=True) | np.nanmean(x, 1) | np.count_nonzero(x, axis=1) | np.add.reduce(x)
np.multiply.reduce(x, axis=1, keepdims=True) | np.maximum.reduce(x, axis=None) | np.add(x, 1) | np.add(x, 2.5) | np.add(x, y) | np.multiply(x, y) | np.divide(x, y) | np.power(x, 2)
np.maximum(x, y) | np.exp(x) | np.sqrt(abs(x)) | np.sin(x, dtype="f8") | np.square(x) | np.abs(x) | np.isnan(x) | np.logical_not(x) | np.equal(x, y) | np.less(x, 1) | np.where(x, x, y)
np.where(x, 1, x) | np.where(x, x, 2.5) | np.clip(x, 0, 2) | np.transpose(x) | np.reshape(x, (4, 3)) | np.ravel(x) | np.squeeze(x) | np.expand_dims(x, 0) | np.swapaxes(x, 0, 1)
np.moveaxis(x, 0, 1) | np.broadcast_to(x, (2, 3, 4)) | np.zeros_like(x) + x | np.full_like(x, 1) + x | np.matmul(x, x.T) | np.arctan2(y, 2) | np.hypot(x, y) | np.sign(x)
np.rint(x) | np.round(x) | np.nan_to_num(x) | np.real(x) | np.floor(x) | np.zeros(np.shape(x)) + np.ndim(x) + np.size(x) + np.size(x, 1) + x
np.where(x > 1, 0.1, 0.2) * y | np.where(x > 1, 1.0, 0.0).sum() | np.where(x > 1, 2, 1.5) | np.isclose(x, y) | np.heaviside(x, 0.5) | np.heaviside(x, 1) | np.heaviside(2, x) | np.ceil(x)
x % -2.5 | 1 / np.remainder(x, -2.5) | 1 / np.remainder(0 * x, -y)
x * x.size | x / x.size | x - x.size | np.maximum(x, x.size) | np.clip(x, 0, x.size)
np.linalg.norm(x) | np.linalg.norm(x, axis=1) | np.linalg.norm(x, 1, -1, True) | np.linalg.norm(x, np.inf, 0) | np.linalg.norm(x, "fro", (0, 1)) | np.linalg.norm(x, axis=(1, 0))
np.einsum("ij->j", x) | np.einsum("ij,j->i", x, y) | np.einsum("ij,kj", x, x, optimize=True) | np.einsum(x, [0, 1], y, [1])
""".replace("\n", " | ").split(" | ")  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("call", [call for call in TRACED if call] + ["np.fmod(x, x * 0)", "np.imag(x)", "x.size - x"])
def test_functions_of_traced_arrays_mean_the_same(call, dtype):
    values = np.array([[0, 1, 2, 3], [5, 4, 100, 1], [9, 9, 7, 1]]).astype(dtype)
    if values.dtype.kind == "f":
        values[0, 1], values[2], values[1, 0] = np.nan, np.nan, -0.5
    run = eval(f"lambda x, y: {call}", {"np": np})
    y = np.array([2, 1, 2.5, 3]).astype("f4")
    try:
        wanted = run(values, y)
    except TypeError:
        with pytest.raises((TypeError, NotImplementedError, RuntimeError)):
            zs.fuse(run)(values, y)
        return
    try:
        found = zs.fuse(run)(values, y)
    except NotImplementedError as error:
        # As PyTorch, which has no extremes and no rounding of bools.
        assert dtype == "?" and "ool" in str(error)
        return
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-3 if np.asarray(wanted).dtype == "f2" else 1e-6)


@pytest.mark.parametrize(
    "call",
    [
        "np.median(x)", "np.sum(x, initial=2)", "np.sum(x, where=x > 1)", "np.add(x, 1, out=x)", "np.add.accumulate(x)", "np.linalg.norm(x, 1)", "np.modf(x)",
        "np.pad(x, 1)", "np.sqrt(x, where=x > 0)", "np.quantile(x, 0.5)", "np.einsum('ij->i', x, order='F')", "np.add.at(x, 0, 1)", "np.cbrt(x)", "np.sum(x, axis=0, out=x)",
    ],
)  # fmt: skip
def test_functions_that_a_traced_function_cannot_use_say_so(call):
    name = call.partition("(")[0].replace("np", "numpy", 1)
    with pytest.raises(zs.TraceError, match=f"{name}.*write it with the functions of zerostride"):
        zs.fuse(eval(f"lambda x: {call}", {"np": np}))(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [call for call in TRACED if call] + ["np.median(x)", "np.sum(x, initial=2)", "np.sort(x)", "np.concatenate([x, x])", "np.cumsum(x)"])
def test_functions_of_arrays_in_files_mean_the_same(call, tmp_path):
    np.save(tmp_path / "x.npy", X)
    run = eval(f"lambda x, y: {call}", {"np": np})
    y = np.array([2, 1, 2.5, 3], "f4")
    found, wanted = run(zs.open(tmp_path / "x.npy"), y), run(X, y)
    np.testing.assert_allclose(np.asarray(found), wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


def test_dtypes_are_equal_to_what_numpy_takes_for_them():
    assert zs.bool == bool and zs.float32 == "f4" and zs.int64 == np.int64 and zs.float64 == np.dtype(float)
    assert zs.bool != int and zs.float32 != "f8" and zs.bfloat16 != "f4" and zs.float32 != "nothing" and zs.float32 != None
    assert zs.int16 == zs.int16 and zs.int16 != zs.int32 and zs.int16 in {zs.int16} and zs.float32.type is np.float32
    # A set finds what is equal by its hash.
    assert zs.float64 in {np.float64} and np.isdtype(zs.float64, "real floating") and not np.isdtype(zs.float64, "integral")


def test_bfloat16_is_computed_here():
    x = zs.asarray(X).bfloat16()
    for call in TRACED:
        if call and "dtype" not in call and "f8" not in call:
            found = eval(call, {"np": np, "x": x, "y": zs.ones(4).bfloat16()})
            assert isinstance(found, (zs.Tensor, tuple)), call
    assert np.exp(x).dtype is np.sum(x, axis=0).dtype is np.concatenate([x, x]).dtype is zs.bfloat16
    assert np.sum(x, dtype="f4").dtype is zs.float32


def test_bfloat16_says_what_to_do():
    with pytest.raises(TypeError, match="NumPy has no bfloat16: convert the tensor first"):
        np.median(zs.ones(3).bfloat16())


def test_a_ufunc_of_an_array_and_a_tensor_compares_their_elements():
    assert np.equal(np.array([1.0, 2.0]), zs.tensor([1.0, 3.0])).tolist() == [True, False]
    assert (np.array([1.0, 2.0]) == zs.tensor([1.0, 3.0])).tolist() == [True, False]


def test_the_number_of_elements_is_a_number_to_numpy():
    x, size = np.ones(3, "f4"), zs.ones(4).size
    for result in (x * size, size * x, np.add(x, size), np.where(x > 0, x, size), np.float32(1) / size, x.clip(0, size)):
        assert result.dtype == np.float32
    assert np.result_type(np.float32, size) == np.float32 and (np.arange(3, dtype="i2") + size).dtype == np.int16
    assert type(np.add(size, 1)) is type(np.add(4, 1)) and np.maximum.reduce([size, 3]) == 4 and np.zeros(size).shape == (4,)
    x += size
    assert x.tolist() == [5, 5, 5] and zs.ones(2, 3).size() == (2, 3) and zs.ones(2, 3).size(1) == 3
