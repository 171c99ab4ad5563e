"""NumPy's functions on tensors beside the same calls on NumPy's arrays: values, dtypes, layouts, errors and warnings."""

import collections
import itertools
import warnings

import numpy as np
import pytest
import zerostride as zs

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
UFUNCS = [ufunc for name, ufunc in sorted(vars(np).items()) if isinstance(ufunc, np.ufunc) and ufunc.__name__ == name]
EDGES = [0, 1, -1, 2, 3, 100, -128, 7]


def elements(dtype, shape=(2, 4)):
    """Edge cases of a dtype: zero, the extremes of integers, infinities and NaN."""
    kind = np.dtype(dtype).kind
    values = np.array(EDGES).astype(dtype)
    if kind in "iu":
        values[4:6] = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif kind in "fc":
        values[4:7] = np.nan, np.inf, -np.inf
        values[7:] = 0.75 if kind == "f" else 0.75 - 2j
    return np.resize(values, shape)


def seen(result):
    """What a program sees of a result: arrays of dtypes that tensors have are tensors, and of nothing else."""
    if isinstance(result, zs.Tensor):
        result = result.numpy()
    elif isinstance(result, (np.ndarray, np.generic)):
        assert type(result) is not np.ndarray or result.dtype.char not in "?bBhHiIlLqQefdFD", "NumPy's array came back"
        result = np.asarray(result)
    if isinstance(result, np.ndarray):
        strides = result.strides if result.size else ()
        return "array", result.dtype, result.shape, strides, result.tobytes() if result.dtype != object else result.tolist()
    if isinstance(result, (list, tuple)):
        return type(result), [seen(part) for part in result]
    return type(result), result


def outcome(run, arrays):
    """Results, what has been written, warnings and error of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = run(*arrays)
        except Exception as error:
            result = error
    told = sorted((warning.category.__name__, str(warning.message)) for warning in caught)
    return result, told


def check(run, *arrays):
    """The call on tensors does what it does on arrays."""
    wanted, wanted_told = outcome(run, [array.copy(order="K") for array in arrays])
    inputs = [zs.asarray(array.copy(order="K")) for array in arrays]
    found, told = outcome(run, inputs)
    if isinstance(wanted, Exception):
        assert (type(found), str(found)) == (type(wanted), str(wanted)), (found, wanted)
    else:
        assert not isinstance(found, Exception), found
        as_tensors = lambda part: (
            [as_tensors(each) for each in part] if type(part) is list else
            part._make(map(as_tensors, part)) if hasattr(part, "_make") else
            tuple(map(as_tensors, part)) if type(part) is tuple else
            zs.from_numpy(np.asarray(part)) if isinstance(part, (np.ndarray, np.generic)) and part.dtype.char in "?bBhHiIlLqQefdFD" else part
        )  # fmt: skip
        assert seen(found) == seen(as_tensors(wanted))
    assert told == wanted_told


def all_of(calls):
    """Every call of a table is made; the ones that differ are told together."""
    differ = []
    for name, run, *arrays in calls:
        try:
            check(run, *arrays)
        except AssertionError as error:
            differ.append(f"{name}: {str(error)[:300]}")
    assert not differ, f"{len(differ)} calls differ: " + "\n".join(differ[:20])


@pytest.mark.parametrize("dtype", DTYPES)
def test_ufuncs_of_one_operand(dtype):
    x, mask = elements(dtype), np.resize([True, False, True], (2, 4))
    options = [{}, {"dtype": "f8"}, {"dtype": "c8", "casting": "unsafe"}, {"order": "F"}, {"subok": False}]
    unary = [ufunc for ufunc in UFUNCS if ufunc.nin == 1]
    all_of((f"{u.__name__} {given}", lambda x, u=u, given=given: u(x, **given), x) for u in unary for given in options)
    # What is not written keeps what it had.
    into = lambda u: lambda x, m, *outs: u(x, out=outs, where=m)
    all_of((f"{u.__name__} into", into(u), x, mask, *[np.full((2, 4), 5, "f8")] * u.nout) for u in unary)
    all_of((f"{u.__name__} 0-d", u, x[0, 1]) for u in unary)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ufuncs_of_two_operands(dtype):
    x = elements(dtype)
    binary = [ufunc for ufunc in UFUNCS if ufunc.nin == 2 and ufunc.signature is None]
    all_of((f"{u.__name__} {other}", u, x, elements(other, (3, 2, 4))[..., ::-1]) for u in binary for other in DTYPES)
    numbers = [True, 3, -1, 300, 2.5, 1j, np.float64(0.5), np.int8(-1), [1, 2, 3, 4]]
    all_of((f"{u.__name__} {n!r}", lambda x, u=u, n=n: u(x, n), x) for u in binary for n in numbers)
    all_of((f"{u.__name__} in place", lambda x, y, u=u: u(x, y, x), x, elements("i1")) for u in binary if u.nout == 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_methods_of_ufuncs(dtype):
    x, mask = elements(dtype), np.resize([True, False, True], (2, 4))
    binary = [ufunc for ufunc in UFUNCS if ufunc.nin == 2 and ufunc.nout == 1 and ufunc.signature is None]
    calls = {
        "reduce": lambda u: u.reduce, "axis": lambda u: lambda x: u.reduce(x, 1), "none": lambda u: lambda x: u.reduce(x, axis=None),
        "kept": lambda u: lambda x: u.reduce(x, axis=(0, 1), keepdims=True), "dtype": lambda u: lambda x: u.reduce(x, dtype="f8"),
        "initial": lambda u: lambda x: u.reduce(x, axis=1, initial=1), "accumulate": lambda u: lambda x: u.accumulate(x, axis=-1),
        "reduceat": lambda u: lambda x: u.reduceat(x, [0, 1, 3], axis=1), "outer": lambda u: lambda x: u.outer(x, x),
    }  # fmt: skip
    all_of((f"{u.__name__}.{name}", call(u), x) for u in binary for name, call in calls.items())
    where = lambda u: lambda x, m: u.reduce(x, axis=0, where=m, initial=1)
    into = lambda u: lambda x, out: u.reduce(x, axis=0, out=out)
    at = lambda u: lambda x, i: (u.at(x, i, 2), x)
    all_of((f"{u.__name__}.reduce where", where(u), x, mask) for u in binary)
    all_of((f"{u.__name__}.reduce out", into(u), x, np.zeros(4, "c16")) for u in binary)
    all_of((f"{u.__name__}.at", at(u), x, np.array([0, 1, 0])) for u in binary)


# Calls of `x`, a matrix of each dtype, with `v`, a vector of integers, `m`, a mask of the matrix, and `f`,
# which is `m` as floats.
FUNCTIONS = """
np.sum(x) | np.sum(x, 0) | np.sum(x, axis=(0, 1), keepdims=True) | np.sum(x, axis=()) | np.sum(x, dtype="f4") | np.sum(x, initial=3)
np.sum(x, where=m) | np.sum(x, 1, None, None, True) | np.prod(x) | np.prod(x, 1, dtype="f8", initial=2, where=m) | np.mean(x) | np.mean(x, 1)
np.mean(x, dtype="f8", where=m) | np.mean(x, axis=None, keepdims=True) | np.std(x) | np.std(x, 0, ddof=1) | np.std(x, where=m, axis=1)
np.std(x, correction=1) | np.std(x, dtype="f8", mean=np.mean(x, dtype="f8", keepdims=True)) | np.var(x) | np.var(x, 1, keepdims=True)
np.max(x) | np.max(x, 1, initial=5) | np.max(x, axis=0, where=m, initial=0) | np.amax(x) | np.min(x) | np.min(x, 0) | np.amin(x, keepdims=True)
np.ptp(x, axis=None) | np.argmax(x) | np.argmax(x, axis=1, keepdims=True) | np.argmin(x, axis=None) | np.argmin(x, 0) | np.all(x) | np.all(x, 1)
np.any(x, axis=None, where=m) | np.any(x, 0, keepdims=True) | np.count_nonzero(x) | np.count_nonzero(x, axis=1, keepdims=True) | np.cumsum(x)
np.cumsum(x, 1, "f8") | np.cumprod(x, axis=None) | np.cumulative_sum(x, axis=1, include_initial=True) | np.cumulative_prod(x, axis=0)
np.nansum(x) | np.nansum(x, 1) | np.nanprod(x, axis=0) | np.nanmax(x) | np.nanmax(x, axis=1) | np.nanmin(x, 0, initial=3) | np.nanmean(x)
np.nanmean(x, axis=1, keepdims=True) | np.nanstd(x) | np.nanvar(x, 0, ddof=1) | np.nanmedian(x, axis=1) | np.nanargmax(x) | np.nanargmin(x, 1)
np.nancumsum(x, 0) | np.nanpercentile(x, [10, 50], axis=1) | np.nanquantile(x, 0.5) | np.nan_to_num(x) | np.nan_to_num(x, nan=7, posinf=1, neginf=2)
np.median(x) | np.median(x, axis=1, keepdims=True) | np.percentile(x, 30) | np.percentile(x, [30, 60], axis=0, method="lower") | np.quantile(x, 0.5, axis=1)
np.average(x) | np.average(x, axis=1, weights=v) | np.average(x, weights=m, returned=True) | np.cov(x) | np.corrcoef(x) | np.bincount(v)
np.histogram(np.abs(v), 3) | np.histogram(v, bins="auto") | np.histogram2d(v, v, 2) | np.histogram_bin_edges(v, 4) | np.digitize(v, [0, 2]) | np.histogramdd(m, 2)
np.clip(x, 0, 2) | np.clip(x, None, 1) | np.clip(x, a_min=0, a_max=None) | np.clip(x, min=1, max=2) | np.clip(x, v, 3) | np.round(x) | np.round(x, 1)
np.around(x, decimals=-1) | np.round(x, 2, x) | np.fix(x) | np.trunc(x) | np.sinc(x) | np.i0(x) | np.angle(x, deg=True) | np.real(x) | np.imag(x)
np.real_if_close(x) | np.unwrap(x) | np.diff(x) | np.diff(x, 2, 1, prepend=0) | np.ediff1d(x, to_begin=1) | np.gradient(x) | np.gradient(x, axis=1)
np.gradient(x, 2.0, edge_order=1, axis=1) | np.cross(x[:, :3], x[:, 1:]) | np.trapezoid(x) | np.trapezoid(x, v, axis=1) | np.convolve(x[0], v) | np.correlate(x[0], x[1], "same")
np.interp(v, [0, 2], [1, 5]) | np.where(m, x, 0) | np.where(m, x, v) | np.where(x) | np.where(m, 1.5, x) | np.select([m, ~m], [x, v], default=7)
np.choose(m, [x, v]) | np.piecewise(x, [m], [1, 2]) | np.extract(m, x) | np.compress([True, False], x, axis=0) | np.nonzero(x) | np.argwhere(x)
np.flatnonzero(x) | np.isclose(x, v) | np.isclose(x, x, rtol=0, equal_nan=True) | np.allclose(x, x) | np.array_equal(x, x) | np.array_equal(x, v)
np.array_equiv(x, x[:1]) | np.isin(x, [1, 2]) | np.isin(x, v, invert=True) | np.unique(x) | np.unique(v, return_index=True, return_inverse=True, return_counts=True)
np.unique(m, axis=0) | np.unique_all(v) | np.unique_counts(v) | np.unique_inverse(v) | np.unique_values(v) | np.unique(x, equal_nan=False) | np.union1d(v, [9])
np.intersect1d(v, v, return_indices=True) | np.setdiff1d(v, [1]) | np.setxor1d(v, [1, 7]) | np.sort(x) | np.sort(x, axis=None) | np.sort(x, 0, kind="stable")
np.argsort(v, kind="stable") | np.argsort(x, axis=None, stable=True) | np.lexsort((v, v[::-1])) | np.partition(v, 2) | np.argpartition(v, 1) | np.sort_complex(x)
np.searchsorted(v, 2) | np.searchsorted(np.sort(v), v, side="right", sorter=None) | np.concatenate([x, x]) | np.concatenate([x, v[None]], axis=0)
np.concatenate((x, x), axis=None) | np.concatenate([x, x], axis=1, dtype="c16") | np.concat([x, m]) | np.stack([x, x], axis=-1) | np.stack([x, x], 1, dtype="c8", casting="unsafe")
np.hstack([x, x]) | np.vstack((x, v)) | np.dstack([x, x]) | np.column_stack([v, v]) | np.block([[x, x], [x, x]]) | np.append(x, v) | np.append(x, x, axis=1)
np.insert(x, 1, 9, axis=1) | np.delete(x, [0], axis=1) | np.split(x, 2, axis=1) | np.array_split(x, 3, axis=1) | np.hsplit(x, 2) | np.vsplit(x, 2) | np.unstack(x)
np.tile(x, (2, 1)) | np.repeat(x, 2) | np.repeat(x, [1, 2], axis=0) | np.resize(x, (3, 3)) | np.trim_zeros(v) | np.pad(x, 1) | np.pad(x, ((0, 1), (2, 0)), "edge")
np.pad(v, 2, mode="reflect") | np.pad(x, 1, constant_values=3) | np.roll(x, 1) | np.roll(x, (1, 2), axis=(0, 1)) | np.rot90(x) | np.flip(x) | np.flip(x, 1) | np.fliplr(x)
np.flipud(x) | np.transpose(x) | np.transpose(x, (1, 0)) | np.permute_dims(x) | np.matrix_transpose(x) | np.swapaxes(x, 0, 1) | np.moveaxis(x, 0, -1) | np.rollaxis(x, 1)
np.reshape(x, (4, 2)) | np.reshape(x, -1, order="F") | np.reshape(x, (4, 2), copy=True) | np.ravel(x) | np.ravel(x, "F") | np.squeeze(x[:, :1]) | np.squeeze(x[:, :1], axis=1)
np.squeeze(x, axis=0) | np.expand_dims(x, (0, 3)) | np.atleast_1d(x) | np.atleast_3d(x) | np.broadcast_to(x, (3, 2, 4)) | np.broadcast_arrays(x, v) | np.copy(x) | np.copy(x, order="F")
np.astype(x, "c16") | np.astype(x, np.dtype("f4"), copy=False) | np.zeros_like(x) | np.ones_like(x, order="F") | np.ones_like(x, dtype="i2", shape=(2, 2)) | np.full_like(x, 1)
np.full_like(x, 2.5, dtype="f8", order="F") | np.empty_like(x).shape | np.tril(x) | np.tril(x, k=1) | np.triu(x, -1) | np.diag(v) | np.diag(x, 1) | np.diagonal(x) | np.diagflat(v)
np.trace(x) | np.trace(x, 1, dtype="f8") | np.vander(v) | np.meshgrid(v, v) | np.meshgrid(v, v, indexing="ij", sparse=True) | np.ix_(v, v) | np.tril_indices_from(x) | np.diag_indices_from(x[:, :2])
np.take(x, [0, 1]) | np.take(x, v, axis=1, mode="wrap") | np.take(x, 1, axis=0) | np.take_along_axis(x, np.argsort(x, 1), 1) | np.unravel_index(v, (4, 4)) | np.ravel_multi_index((v, v), (9, 9))
np.dot(x, v) | np.dot(x, x.T) | np.vdot(x, x) | np.vecdot(x, v) | np.inner(x, x) | np.outer(v, x) | np.matmul(x, x.T) | np.matmul(x, v) | np.tensordot(x, x) | np.tensordot(x, x, ([0], [0]))
np.kron(x, v) | np.einsum("ij,ij->i", x, x) | np.einsum("ij->ji", x) | np.einsum("ij,kj->ik", x, x, optimize=True) | np.einsum_path("ij,jk", x, x.T)[0] | np.linalg.multi_dot([x, x.T])
np.apply_along_axis(lambda row: row[0], 1, x) | np.apply_over_axes(np.sum, x, [0, 1]) | np.polyval([1, 2], x) | np.polyfit(v, v, 1).shape | np.roots(v) | np.poly(v) | np.convolve(v, [1, 1])
np.shape(x) | np.size(x) | np.size(x, 1) | np.ndim(x) | np.result_type(x, v) | np.result_type(x, 1.5) | np.can_cast(np.result_type(x), "f4") | np.common_type(x, x) | np.min_scalar_type(v)
np.iscomplexobj(x) | np.isrealobj(x) | np.iscomplex(x) | np.isreal(x) | np.isposinf(x) | np.isneginf(x) | np.shares_memory(x, x[1:]) | np.may_share_memory(x, v) | np.array2string(x) | np.array_repr(x)
np.array_str(x) | np.packbits(m) | np.unpackbits(np.packbits(m)) | np.bitwise_count(v) | np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) | np.fft.fft(x) | np.fft.rfft(v, n=5) | np.fft.ifftn(x, norm="ortho")
np.fft.fftshift(x, axes=1) | np.linalg.norm(x) | np.linalg.norm(x, axis=1, ord=1, keepdims=True) | np.linalg.svdvals(m) | np.linalg.matrix_rank(m) | np.linalg.det(x[:, :2]) | np.linalg.slogdet(m[:, :2])
np.linalg.inv(x[:, :2]) | np.linalg.solve(f[:, :2], v[:2]) | np.linalg.qr(f) | np.linalg.eigvalsh(f[:, :2]) | np.linalg.eigh(f[:, :2]) | np.linalg.svd(f) | np.linalg.matrix_power(x[:, :2], 2)
np.linalg.pinv(f) | np.linalg.lstsq(f, v[:2]) | np.linalg.cross(x[:, :3], x[:, 1:]) | np.linalg.trace(x) | np.linalg.diagonal(x) | np.linalg.outer(v, v) | np.linalg.vector_norm(x, axis=0) | np.linalg.matrix_norm(f)
np.copyto(x, 1) or x | np.copyto(x, v, where=m, casting="unsafe") or x | np.put(x, [0, 1], 1) or x | np.putmask(x, m, 1) or x | np.place(x, m, [1]) or x | np.fill_diagonal(x, 1) or x | np.put_along_axis(x, np.argsort(x, 1), 1, 1) or x
np.sum(x, axis=0, out=x[0]) | np.concatenate([v[:2], v[2:]], out=v) | np.sum(x, axis=5) | np.sum(x, wrong=1) | np.reshape(x, 5) | np.concatenate([x, v]) | np.stack([x, v]) | np.take(x, 99) | np.split(x, 3)
np.frompyfunc(lambda a: a, 1, 1)(v) | np.frompyfunc(lambda a, b: 0, 2, 1).outer(v, v) | np.add.resolve_dtypes((np.result_type(x), int, None)) | np.array([x, x], like=x) | np.asarray([1, 2], like=x) | np.zeros(3, like=x) | np.arange(3, like=x)
""".replace("\n", " | ").split(" | ")  # fmt: skip
FUNCTIONS = [call for call in FUNCTIONS if call]


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions(dtype):
    m, v = np.resize([True, False, True], (2, 4)), np.array([2, 0, 3, 1])
    run = lambda call: eval(f"lambda x, v, m, f: {call}", {"np": np})
    layouts = elements(dtype), elements(dtype, (4, 2)).T, elements(dtype)[:, ::-1]
    all_of((call, run(call), x, v, m, m.astype("f8")) for call in FUNCTIONS for x in layouts)
