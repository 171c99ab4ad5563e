"""NumPy's, Dask's and xarray's calls on tensors give what they give of NumPy's arrays. Calls are separated by `|`."""

import numpy as np
import pytest
import zerostride as zs

RNG = np.random.default_rng(0)
X, Y, INTS = RNG.normal(size=(4, 6)), RNG.normal(size=(4, 6)), RNG.integers(0, 5, (4, 6))

NUMPY = """
np.sum(x, axis=None) | np.sum(x, where=m) | np.sum(x, initial=3.0) | np.sum(x, axis=(0,1)) | np.sum(x, 0, keepdims=True) |
np.sum(x, dtype="f4") | np.prod(x, axis=1, where=m, initial=2) | np.max(x, initial=10.0) |
np.max(x, axis=0, where=m, initial=-9.0) | np.min(x, axis=None) | np.mean(x, where=m) | np.std(x, where=m) |
np.var(x, ddof=1, axis=0) | np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)) | np.all(m, axis=0, where=m) |
np.any(m, axis=1) | np.copy(x, order="F") | np.ravel(x, order="F") | np.reshape(x, (6, 4), order="F") |
np.array(x, order="F") | np.asarray(x, order="F") | np.asfortranarray(x) | np.ascontiguousarray(x) |
np.zeros_like(x, order="F") | np.ones_like(x) | np.full_like(x, 7) | np.full_like(x, 7, dtype="i4") |
np.full_like(x, 7, shape=(2,)) | np.empty_like(x).shape | np.where(m, x, y) | np.where(m) | np.where(m, x, 0) |
np.where(x > 0, x, v) | np.pad(x, 1) | np.pad(x, ((1,2),(0,1)), mode="edge") | np.pad(x, 2, mode="reflect") |
np.pad(x, 1, constant_values=5) | np.round(x, 2) | np.round(x) | np.around(x, 1) | np.clip(x, -1, 1) |
np.clip(x, None, 0.5) | np.clip(x, v, None) | np.quantile(x, 0.3) | np.quantile(x, [0.1, 0.9], axis=0) |
np.percentile(x, 30, axis=1) | np.median(x) | np.median(x, axis=0, keepdims=True) | np.nanmedian(x) |
np.nanquantile(x, 0.5, axis=1) | np.quantile(x, 0.4, method="nearest") | np.dot(x, y.T) | np.dot(x, v) | np.inner(x, y) |
np.outer(v, v) | np.vdot(x, y) | np.tensordot(x, y, axes=([0],[0])) | np.einsum("ij,ij->i", x, y) |
np.einsum("ij,jk", x, y.T, optimize=True) | np.matmul(x, y.T) | np.kron(x, v) | np.cross(x[:, :3], y[:, :3]) | np.trace(x) |
np.linalg.norm(x) | np.linalg.norm(x, axis=1) | np.linalg.svd(x, compute_uv=False) | np.linalg.inv(x[:, :4]) |
np.linalg.det(x[:, :4]) | np.linalg.solve(x[:, :4], v[:4]) | np.linalg.qr(x)[1] |
np.linalg.eigvalsh(x[:, :4] @ x[:, :4].T) | np.linalg.matrix_rank(x) | np.linalg.pinv(x) |
np.linalg.lstsq(x, v[:4], rcond=None)[0] | np.linalg.cholesky(x @ x.T) | np.linalg.slogdet(x[:, :4]) |
np.linalg.multi_dot([x, y.T, x]) | np.interp(v, np.sort(v), v) | np.cov(x) | np.corrcoef(x) | np.average(x, weights=w) |
np.average(x, axis=0, weights=w, returned=True) | np.histogram(x, bins=4) | np.histogram2d(v, v)[0] |
np.bincount(np.abs(i).ravel()) | np.digitize(x, np.sort(v)) | np.searchsorted(np.sort(v), x) | np.gradient(x) |
np.gradient(v, 2.0) | np.diff(x, axis=0) | np.diff(x, n=2, prepend=0) | np.ediff1d(v) | np.trapezoid(x, axis=0) |
np.convolve(v, v) | np.correlate(v, v, "full") | np.cumsum(x) | np.cumsum(x, axis=0) | np.cumprod(x, axis=1, dtype="f4") |
np.nancumsum(x, 1) | np.nansum(x, where=m) | np.nanmax(x, axis=0) | np.nanmean(x) | np.nanstd(x, axis=1) |
np.nanvar(x, ddof=1) | np.nanargmax(x) | np.nanprod(x, 0) | np.argmax(x) | np.argmax(x, axis=0) |
np.argmin(x, axis=1, keepdims=True) | np.argsort(x, axis=0) | np.sort(x, axis=None) | np.sort(x, axis=0, kind="stable") |
np.partition(x, 2) | np.argpartition(x, 2, axis=0) | np.lexsort((v, v)) | np.unique(i) | np.unique(i, return_counts=True) |
np.unique(i, axis=0) | np.unique_values(i) | np.isin(i, [1,2]) | np.isin(i, np.array([1, 3]), invert=True) |
np.intersect1d(i, i[0]) | np.union1d(i, i[0]) | np.setdiff1d(i, i[0]) | np.setxor1d(i, i[0]) |
np.concatenate([x, y], axis=1) | np.concatenate([x, y], axis=None) | np.concatenate([x, i]) |
np.concatenate([x, y], dtype="f4", casting="same_kind") | np.stack([x, y], axis=-1) | np.vstack([x, v]) |
np.hstack([x, y]) | np.dstack([x, y]) | np.column_stack([v, v]) | np.block([[x, y],[y, x]]) | np.append(x, v) |
np.insert(x, 1, 5.0, axis=1) | np.delete(x, 1, axis=0) | np.split(x, 2) | np.array_split(x, 3, axis=1) | np.hsplit(x, [2]) |
np.tile(x, (2,1)) | np.repeat(x, 2, axis=0) | np.repeat(x, 2) | np.resize(x, (3,3)) | np.flip(x) | np.fliplr(x) |
np.flipud(x) | np.rot90(x) | np.roll(x, 1, axis=1) | np.roll(x, (1, 2), axis=(0, 1)) | np.rollaxis(x, 1) |
np.moveaxis(x, 0, 1) | np.swapaxes(x, 0, 1) | np.transpose(x) | np.transpose(x, (1, 0)) | np.expand_dims(x, (0, 2)) |
np.squeeze(x[None]) | np.atleast_1d(x[0,0]) | np.atleast_2d(v) | np.atleast_3d(x) | np.broadcast_to(v, (3, 6)) |
np.broadcast_arrays(x, v) | np.diag(v) | np.diag(x) | np.diagonal(x, 1) | np.tril(x) | np.triu(x, 1) | np.vander(v) |
np.take(x, [0, 2]) | np.take(x, [0, 2], axis=1) | np.take(x, [0, 9], axis=1, mode="clip") |
np.take_along_axis(x, np.argsort(x, 1), 1) | np.compress([True, False, True], x, axis=0) | np.extract(m, x) |
np.choose(m.astype(int) if hasattr(m, "astype") else m.to(int), [x, y]) | np.select([m, ~m], [x, y]) |
np.piecewise(x, [m, ~m], [lambda t: t * 2, 0.0]) | np.nonzero(m) | np.flatnonzero(m) | np.argwhere(m) |
np.count_nonzero(m, axis=0) | np.apply_along_axis(np.sum, 0, x) | np.apply_over_axes(np.sum, x, [0]) | np.fft.fft(x) |
np.fft.rfft(x, axis=0) | np.fft.ifft(x) | np.fft.fft2(x) | np.fft.fftshift(x) | np.fft.irfft(x, n=6) | np.exp(x) |
np.add(x, y, dtype="f4") | np.add(x, 1, where=m, out=np.zeros((4, 6))) | np.add.reduce(x) | np.add.reduce(x, axis=None) |
np.add.reduce(x, axis=(0, 1), initial=2.0) | np.add.accumulate(x, axis=1) | np.add.outer(v, v) |
np.add.reduceat(v, [0, 2]) | np.multiply.reduce(x, axis=1, keepdims=True) | np.maximum.accumulate(x) |
np.maximum.reduce(x, axis=0, where=m, initial=-5) | np.subtract.outer(v, v) | np.divmod(x, 2.0) | np.modf(x) | np.frexp(x) |
np.ldexp(x, 2) | np.heaviside(x, 0.5) | np.copysign(x, y) | np.nextafter(x, y) | np.spacing(x) | np.sign(x) |
np.fmax(x, y) | np.fmod(x, y) | np.hypot(x, y) | np.arctan2(x, y) | np.logaddexp(x, y) | np.isclose(x, y) |
np.allclose(x, x) | np.array_equal(x, x) | np.array_equiv(x, x) | np.isnan(x) | np.nan_to_num(x, nan=1.0) | np.angle(x) |
np.real(x) | np.imag(x) | np.sinc(x) | np.i0(x) | np.unwrap(x) | np.float_power(w, 2) | np.cbrt(x) | np.exp2(x) |
np.positive(x) | np.square(x) | np.reciprocal(x) | np.gcd(i, 6) | np.lcm(i, 4) | np.bitwise_count(i) | np.left_shift(i, 1) |
np.invert(i) | np.trunc(x) | np.rint(x) | np.fix(x) | np.logical_and(m, m) | np.logical_not(m) |
np.logical_xor.reduce(m, axis=1) | np.matvec(x, v) | np.vecdot(x, y) | np.vecmat(v, x.T) | np.ptp(x) | np.ptp(x, axis=0) |
np.shape(x) | np.ndim(x) | np.size(x) | np.size(x, 1) | np.result_type(x, np.float32) | np.can_cast(x.dtype, "f8") |
np.iscomplexobj(x) | np.isrealobj(x) | np.common_type(x, y) | np.may_share_memory(x, y) | np.shares_memory(x, x) |
np.nanpercentile(x, 20) | np.polyfit(v, v, 1) | np.polyval(v, x) | np.roots(v) | np.ix_(v > 0, v > 0) | np.meshgrid(v, v) |
np.meshgrid(v, v, indexing="ij") | np.unravel_index(i[:1] % 3, (2, 3)) | np.ravel_multi_index((i % 4, i % 5), (4, 5)) |
np.packbits(m) | np.array2string(v, precision=2) | np.array_repr(v) | np.array_str(v) | np.trim_zeros(v) | np.isposinf(x) |
np.sort_complex(v) | np.linspace(v, v + 1, 3) | np.geomspace(w[0], w[1], 3) | np.logspace(v, v, 2) | np.astype(x, "f4") |
np.matrix_transpose(x) | np.permute_dims(x, (1, 0)) | np.concat([x, y]) | np.unstack(x) |
np.cumulative_sum(x, axis=1, include_initial=True) | np.isdtype(x.dtype, "real floating") |
np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) | np.emath.sqrt(x) | np.may_share_memory(x, x)
"""

DASK = """
x.std() | x.var(0, ddof=1) | x.moment(3) | x.mean(0) | da.nanmax(x) | da.nanmin(x, 0) | da.nanargmax(x) | da.nanstd(x, 0) |
da.nanvar(x) | da.nansum(x,0) | da.nanmean(x) | da.nanmedian(x, axis=1) | x[x > 0] | da.where(x > 0, x, 0) |
da.where(x > 0, x, y) | x.view("i8") | x.to_backend("numpy") | da.median(x, axis=1) | da.quantile(x, 0.5, axis=1) | da.cov(x) |
da.corrcoef(x) | da.full_like(x, 7) | da.zeros_like(x) | da.ones_like(x, dtype="i4") | da.ma.masked_where(x > 0, x).sum() |
da.histogram(x, bins=4, range=(-3, 3))[0] | da.bincount(i.ravel(), minlength=5) | da.unique(i) | da.isin(i, [1, 2]) |
da.digitize(x, np.array([-1.0, 0, 1])) | da.topk(x, 2, axis=1) | da.argtopk(x, 2, axis=1) | da.argmax(x, 0) | da.argmin(x) |
x.argmax(1) | da.cumsum(x, 0) | da.cumprod(x, 1) | da.diff(x, axis=0) | da.gradient(x)[0] | da.dot(x, y.T) | x @ y.T |
da.tensordot(x, y, axes=((0,), (0,))) | da.einsum("ij,kj->ik", x, y) | da.outer(x[0], y[0]) | da.vdot(x[0], y[0]) |
da.linalg.norm(x) | da.linalg.norm(x, axis=1) | da.linalg.qr(x.rechunk((4, 6)))[1] |
da.linalg.inv((x[:, :4] @ x[:, :4].T + np.eye(4)).rechunk((2,2))) |
da.linalg.solve((x[:, :4] @ x[:, :4].T + np.eye(4)).rechunk((2,2)), x[:, 0].rechunk(2)) |
da.linalg.cholesky((x @ x.T + np.eye(4)).rechunk((2,2))) | da.fft.fft(x.rechunk((2, 6))) | da.pad(x, 1) |
da.pad(x, 1, mode="edge") | da.pad(x, 1, mode="reflect") | da.roll(x, 1, 0) | da.flip(x, 0) | da.rot90(x) | da.tile(x, 2) |
da.repeat(x, 2, axis=0) | da.concatenate([x, y]) | da.stack([x, y], axis=1) | da.block([[x, y]]) | da.vstack([x, y]) |
da.append(x, y) | da.insert(x, 1, 5.0, axis=0) | da.delete(x, 1, axis=0) | da.squeeze(x[None]) | da.moveaxis(x, 0, 1) |
da.swapaxes(x, 0, 1) | da.transpose(x) | x.ravel() | da.broadcast_to(x, (2, 4, 6)) | da.tril(x[:, :4]) | da.triu(x[:, :4]) |
da.diag(x[0]) | da.diagonal(x) | da.trace(x[:, :4]) | da.take(x, [0, 2], axis=1) |
da.compress([True, False, True, False], x, axis=0) | da.choose(i % 2, [x, y]) | da.select([x > 0, x <= 0], [x, y]) |
da.piecewise(x, [x > 0], [1.0, 0.0]) | da.nonzero(x > 0)[0] | da.argwhere(x > 0) | da.count_nonzero(x > 0, axis=0) |
da.round(x, 2) | da.clip(x, -1, 1) | da.nan_to_num(x) | da.isclose(x, y) | da.allclose(x, x) |
da.average(x, axis=0, weights=abs(y)) | da.ptp(x, axis=0) | da.exp(x) | da.arctan2(x, y) | da.divmod(x, 2)[0] |
da.modf(x)[0] | da.frexp(x)[0] | da.angle(x) | da.real(x) | da.sinc(x) | da.i0(x) |
da.overlap.overlap(x, depth=1, boundary="reflect").sum() | x.map_overlap(lambda b: b, depth=1, boundary="none") |
da.apply_along_axis(np.sum, 0, x) | da.apply_over_axes(np.sum, x, [0]) | x.astype("f4") | x.astype(int) |
x.rechunk((3, 3)) | x.T | x[::-1] | x[[0, 2]] | x[:, [1, 3]] | x.vindex[[0, 1], [1, 2]] | x.blocks[0] | x.clip(0, 1) |
x.round(1) | x.cumsum(0) | x.sum(dtype="f4") | x.prod(1) | x.any() | x.all(1) | x.min(0) | x.max() | abs(x) | x ** 2 |
x % 2 | -x | x > y | da.coarsen(np.sum, x, {0: 2}) | da.shape(x) | da.ndim(x) | da.result_type(x, y) | da.union1d(i, i) |
da.ravel_multi_index(da.stack([i[0], i[1]]), (5, 5)) | da.unravel_index(i[0], (2, 3))[0] |
da.map_blocks(lambda b: b + 1, x) | da.blockwise(np.add, "ij", x, "ij", y, "ij", dtype="f8") | da.reductions.min(x) |
x.to_delayed()[0, 0].compute() | da.from_delayed(x.to_delayed()[0, 0], (2, 3), dtype="f8") |
da.lib.stride_tricks.sliding_window_view(x, 2, axis=1) | x.persist() | assigned(x, 0, 7.0) | assigned(x, (slice(None), 1), x[:, 0] * 2) | assigned(x, x > 0, -1.0) | x.nonzero()[0] | da.tri(3) |
da.ediff1d(x[0]) | da.tensordot(x, y, 0).shape | da.atleast_2d(x[0]) | da.hstack([x, y]) | da.dstack([x,y]) | da.isnull(x) |
da.notnull(x) | da.fix(x) | da.rint(x) | da.logical_and(x>0, y>0) | da.nanpercentile(x, 20, axis=1) |
da.nanquantile(x, .2, axis=1) | da.extract(x > 0, x) | da.flatnonzero(x > 0) | da.expand_dims(x, 0) | x.dot(y.T) |
da.matmul(x, y.T) | da.histogramdd([x[0], y[0]], bins=[np.array([-5.,0,5])]*2)[0] |
da.histogram2d(x[0], y[0], bins=[np.array([-5.,0,5])]*2)[0]
"""

XARRAY = """
a.where(a > 0) | a.where(a > 0, 0.0) | a.where(a > 0, drop=True) | a.shift(time=1) | a.shift(time=-1, fill_value=0.0) |
i.shift(time=1) | a.reindex(time=[0, 2, 9]) | a.reindex(time=[0, 9], fill_value=-1.0) | a.pad(time=1) |
a.pad(time=(1, 2), mode="edge") | a.pad(place=1, mode="constant", constant_values=7) | a.round(2) | a.astype("f4") |
a.astype(int) | a.quantile(0.3) | a.quantile([0.2, 0.7], "time") | a.dot(b) | a.dot(b, dim="time") |
xr.dot(a, b, dim="place") | a.interp(time=[0.5, 1.5]) | a.weighted(w).sum("place") |
a.weighted(w).mean("place") | n.weighted(abs(b)).mean("place") | a.weighted(w > 1).std() | xr.dot(a > 0, b, dim="place") |
a.idxmax("time") | a.polyfit("time", 1).polyfit_coefficients | (a > 0).mean("time") | xr.corr(a, b, "time") | a.argmax("time") | a.std("time") | a.var("place", ddof=1) |
a.median("time") | a.mean() | a.sum("time", skipna=False) | a.prod("time") | a.max() | a.min("place") | a.count("time") |
n.mean("time") | n.sum() | n.std("time") | n.fillna(0.0) | n.fillna(a) | n.dropna("place") | n.interpolate_na("time") |
n.isnull() | n.notnull() | n.argmax("time") | n.idxmax("time") | n.median("time") | n.quantile(0.5, "time") | n.count() |
n.combine_first(a) | a.isel(time=[0, 2]) | a.sel(time=slice(1, 2)) | a.sel(place=["a", "c"]) | a.isel(time=-1) | a.head(2) |
a.thin(2) | a.transpose() | a.T | a.stack(z=("time", "place")) | a.stack(z=("time", "place")).unstack("z") |
a.expand_dims("new") | a.expand_dims(new=3) | a.squeeze() | a.roll(time=1) | a.roll(time=1, roll_coords=True) |
a.rolling(time=2).mean() | a.rolling(time=2, center=True).sum() | a.rolling(time=3, min_periods=1).max() |
a.rolling(time=2).construct("win") | a.coarsen(time=2).mean() | a.groupby("time").mean() |
a.groupby(xr.DataArray([0,0,1,1], dims="time", name="g")).sum() | a.groupby("time") - a.groupby("time").mean() |
a.cumsum("time") | a.cumprod("place") | a.diff("time") | a.differentiate("time") | a.integrate("time") |
a.cumulative_integrate("time") | a.sortby("place", ascending=False) | a.clip(-1, 1) | a.clip(min=0) | a.isin([1.0]) |
i.isin([1, 2]) | a + b | a - w | -a | abs(a) | a ** 2 | a > b | (a > 0) & (b > 0) | ~(a > 0) | i // 2 | i % 3 | i << 1 |
np.exp(a) | np.sin(a) | np.maximum(a, b) | np.hypot(a, b) | xr.where(a > 0, a, b) | xr.concat([a, b], "new") |
xr.concat([a, b], "time") | xr.merge([a.rename("p"), b.rename("q")]) | xr.combine_by_coords([a.to_dataset(name="k")]) |
xr.broadcast(a, w)[1] | xr.align(a, b)[0] | xr.full_like(a, 3) | xr.zeros_like(a) | xr.ones_like(a, dtype=int) |
xr.corr(a, b, "time") | xr.polyval(a, xr.DataArray([1.0, 2.0], dims="degree", coords={"degree": [0, 1]})) |
xr.apply_ufunc(np.square, a) | a.reduce(np.sum, "time") | a.equals(a) | a.identical(a) | a.broadcast_equals(b) |
a.to_dataset(name="k") | a.to_series() | a.to_dataframe() | a.to_dict()["data"] | a.values | a.copy(deep=True) | a.load() |
a.drop_vars("place") | a.assign_coords(time=[5,6,7,8]) | a.rename({"time": "t"}) | a.reset_index("time") | a.real |
a.conj() | a.imag | a.dtype | a.nbytes | repr(a) | a.pipe(lambda t: t + 1) | a.to_numpy() | a.as_numpy() | a.any() |
a.all("time") | a.fillna(0) | a.interp_like(b.isel(time=slice(0, 2))) | a.reindex_like(b.isel(time=slice(0, 2))) |
a.broadcast_like(b) | ds.mean() | ds + 1 | ds.sum("time") | ds.isel(time=0) | ds.where(ds.u > 0) | ds.to_array() |
ds.map(np.exp) | ds.std("time") | ds.quantile(0.5) | ds.shift(time=1) | ds.to_stacked_array("z", ["time"]) |
a.chunk(time=2).compute() | a.chunk(time=2).sum().compute() | a.chunk(time=2).std("time").compute() |
a.chunk(time=2).quantile(0.5, "place").compute() |
a.chunk(time=2).rolling(place=2).mean().compute() | a.chunk(time=2).shift(time=1).compute() |
a.chunk(time=2).pad(time=1).compute() | a.chunk(time=2).mean("time").compute() | a.chunk(time=2).max("time").compute() |
a.chunk(time=2).cumsum("time").compute() | a.chunk(time=2).isin([1]).compute() | n.chunk(time=2).mean().compute() |
n.chunk(time=2).fillna(0).compute() | a.chunk(time=2).astype("f4").compute() |
a.chunk(time=2).dot(b.chunk(time=2)).compute() | a.chunk(time=2).idxmax("place").compute() |
a.chunk(time=2).argmax("place").compute() | a.chunk(time=2).interp(time=[0.5]).compute() |
a.chunk(time=2).groupby("time").mean().compute() |
a.chunk(time=2).median("place").compute()
"""

# NumPy's dtypes that tensors have too, by their characters.
DTYPES = "?bBhHiIlLqQefdFD"


def calls(table):
    return [call.strip() for call in table.replace("\n", " ").split(" | ") if call.strip(" |")]


def elements(result):
    """The elements of arrays, in whatever they come."""
    if hasattr(result, "data_vars"):
        return [elements(result[name]) for name in sorted(map(str, result.data_vars))]
    if hasattr(result, "compute"):
        result = result.compute()
    if type(result).__name__ == "DataArray":
        result = result.data
    if isinstance(result, (list, tuple)):
        return [elements(part) for part in result]
    return np.asarray(result) if isinstance(result, zs.Tensor) else result


def same(found, wanted, call):
    if isinstance(wanted, list):
        assert len(found) == len(wanted), call
        for parts in zip(found, wanted, strict=True):
            same(*parts, call)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert (np.asarray(found).dtype, np.shape(found)) == (wanted.dtype, wanted.shape), call
        if wanted.dtype.kind in "fc":
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12, err_msg=call)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=call)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted), call
    elif type(wanted).__module__.split(".")[0] != "pandas" and not isinstance(wanted, str):
        assert found == wanted, call


def check(call, names, wrap):
    """A call with tensors, and with NumPy's arrays."""
    wanted = eval(call, names(np.asarray))
    found = eval(call, names(wrap))
    same(elements(found), elements(wanted), call)
    return found, wanted


def numpy_names(wrap):
    arrays = dict(x=X, y=Y, i=INTS - 2, m=X > 0, v=Y[0], w=np.abs(X))
    return {"np": np, **{name: wrap(array) for name, array in arrays.items()}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", calls(NUMPY))
def test_numpy(call):
    found, wanted = check(call, numpy_names, zs.asarray)
    # Except where an array was asked for by its name.
    if isinstance(wanted, np.ndarray) and wanted.dtype.char in DTYPES and "np.as" not in call and "np.array(" not in call and "out=" not in call:
        assert isinstance(found, zs.Tensor) or found.dtype.char not in DTYPES


@pytest.mark.filterwarnings("ignore")
def test_dask():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    dask = pytest.importorskip("dask")

    def assigned(x, key, value):
        x = x.copy()
        x[key] = value
        return x

    def names(wrap):
        lazy = {name: da.from_array(wrap(array), chunks=(2, 3)) for name, array in dict(x=X, y=Y, i=INTS).items()}
        return {"da": da, "np": np, "assigned": assigned, **lazy}

    with dask.config.set(scheduler="synchronous"):
        for call in calls(DASK):
            check(call, names, zs.asarray)


@pytest.mark.filterwarnings("ignore")
def test_xarray():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("dask.array", reason="dask is not installed")
    coords = dict(time=[0, 1, 2, 3], place=list("abcdef"))

    def array(x):
        return xr.DataArray(x, dims=("time", "place"), coords=coords, name="values")

    def names(wrap):
        dataset = xr.Dataset({"u": (("time", "place"), wrap(X)), "v": (("time",), wrap(X[:, 0]))}, coords=coords)
        arrays = dict(a=array(wrap(X)), b=array(wrap(X * 2 + 1)), i=array(wrap(INTS)), n=array(wrap(np.where(X > 0.5, np.nan, X))))
        return {"xr": xr, "np": np, "ds": dataset, "w": xr.DataArray(wrap(np.abs(X[0])), dims=("place",)), **arrays}

    for call in calls(XARRAY):
        check(call, names, zs.asarray)
