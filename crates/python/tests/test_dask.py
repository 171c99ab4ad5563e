"""Dask and xarray: tensors as chunks, fused functions over chunks, data larger than a worker's memory."""

import operator

import numpy as np
import pytest
import zerostride as zs

da = pytest.importorskip("dask.array", reason="dask is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.arange(60.0).reshape(6, 10)


@zs.fuse(rules="torch")
def standardised(x):
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)


def chunked():
    return da.from_array(zs.asarray(X), chunks=(2, 5))


def same(found, wanted):
    np.testing.assert_allclose(np.asarray(found), wanted)


def test_tensors_are_chunks():
    x = chunked()
    assert isinstance(x._meta, zs.Tensor)
    assert isinstance(x.compute(), zs.Tensor)
    same(x.compute(), X)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: x + 1, lambda x: x * x[0], lambda x: (x - x.sum(0)) / 2, lambda x: x.T, lambda x: x[1:4, ::2],
        lambda x: x.max(1), lambda x: x.sum(), lambda x: x.reshape(-1),
        lambda x: np.exp(x / 60), lambda x: np.concatenate([x, x]), lambda x: x[[0, 3, 5]], lambda x: x.cumsum(0),
        lambda x: abs(-x), lambda x: x > 30, lambda x: x[x > 30],
        lambda x: x[x[:, 0] > 15], lambda x: np.nonzero(x > 30)[0], lambda x: x.std(), lambda x: x.var(0), lambda x: x.sum(dtype="f4"),
        lambda x: np.cov(x), lambda x: np.gradient(x)[0], lambda x: np.average(x, weights=x), lambda x: np.round(x / 7, 1),
    ],
)  # fmt: skip
def test_arrays_of_tensors_compute_as_numpys(run):
    same(run(chunked()).compute(), run(X))


def test_points_and_quantiles_of_chunks_of_tensors():
    same(chunked().vindex[[0, 1], [1, 2]].compute(), X[[0, 1], [1, 2]])
    same(da.quantile(chunked(), 0.5, axis=1).compute(), np.quantile(X, 0.5, axis=1))


def test_chunks_are_cut_anew():
    same(chunked().rechunk((3, 10)).sum(1).compute(), X.sum(1))


def test_fused_functions_run_over_chunks():
    rows = da.from_array(X, chunks=(2, 10))
    wanted = (X - X.mean(-1, keepdims=True)) / X.std(-1, keepdims=True, ddof=1)
    same(rows.map_blocks(standardised).compute(), wanted)
    same(da.blockwise(standardised, "ij", rows, "ij", dtype=rows.dtype).compute(), wanted)
    same(da.apply_gufunc(standardised, "(i)->(i)", rows, output_dtypes=float).compute(), wanted)


def test_dask_knows_the_bytes():
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    from zerostride._dask import register

    register(sizeof)
    assert sizeof(zs.zeros(1000, 1000)) == 4_000_000


def test_dask_takes_tensors_for_chunks():
    tensors = chunked()
    for run in (
        lambda x: da.percentile(x[0], [25, 50, 75]), lambda x: x.argmax(0), lambda x: da.nanargmin(x, 1),
        lambda x: da.asarray(np.ones(3), like=x), lambda x: x.view("i4"), lambda x: da.full_like(x, 2, dtype="f4"),
    ):  # fmt: skip
        found = run(tensors)
        assert isinstance(found._meta, zs.Tensor) and isinstance(found.compute(), zs.Tensor)
        same(found.compute(), run(da.from_array(X, chunks=(2, 5))).compute())


@pytest.mark.parametrize("of_tensors", [True, False])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "ge", "eq", "ne", "matmul"])
def test_an_operator_of_a_tensor_and_a_dask_array_is_lazy(name, of_tensors):
    run, x = getattr(operator, name), np.arange(1.0, 10.0).reshape(3, 3)
    tensor, lazy = zs.asarray(x), da.from_array(zs.asarray(x + 1) if of_tensors else x + 1, chunks=2)
    for found, wanted in [(run(tensor, lazy), run(x, x + 1)), (run(lazy, tensor), run(x + 1, x))]:
        assert isinstance(found, da.Array)
        same(found.compute(), wanted)


def test_equal_tensors_have_one_name_in_a_graph():
    from dask.base import tokenize

    x = zs.asarray(X)
    assert tokenize(x) == tokenize(x.clone()) != tokenize(x + 1)
    assert tokenize(x.to(zs.bfloat16)) != tokenize(x.to(zs.bfloat16).float())


def test_a_cluster_computes_more_than_a_worker_holds():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    limit, rows = 500_000_000, 40
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=limit, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        x = da.ones((rows * 1_000_000, 4), chunks=(1_000_000, 4), dtype="f4").map_blocks(zs.asarray)
        assert x.nbytes > limit
        total = x.map_blocks(lambda part: (part * 2 + 1).sum(0, keepdim=True), chunks=((1,) * rows, (4,))).sum(0)
        same(total.compute(), [3.0 * rows * 1_000_000] * 4)


def test_xarray_takes_tensors():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    array = xr.DataArray(zs.asarray(X), dims=("time", "place"))
    assert isinstance((array + 1).data, zs.Tensor)
    plain = xr.DataArray(X, dims=("time", "place"))
    for run in (
        lambda a: a.quantile([0.2, 0.4], "time"), lambda a: a.isin([1, 2]),
        lambda a: a.pad(time=1, mode="edge"), lambda a: a.where(a > 3, 0), lambda a: a.var("time"), lambda a: a.dot(a),
        lambda a: a.shift(time=1, fill_value=0.0), lambda a: a.rolling(time=2).construct("w", fill_value=0.0),
        lambda a: a.astype("f4"), lambda a: a.differentiate("time"), lambda a: a.where(a > 3, np.nan),
        lambda a: a.where(a > 3, np.nan).chunk(time=2).sum().compute(), lambda a: a.chunk(time=2).mean("time").compute(),
    ):  # fmt: skip
        same(run(array).data, run(plain).data)
    same((array - array.mean("time")).data, X - X.mean(0))
    same(array.isel(place=slice(2, 5)).sum("place").data, X[:, 2:5].sum(1))
    wanted = (X - X.mean(-1, keepdims=True)) / X.std(-1, keepdims=True, ddof=1)
    core = {"input_core_dims": [["place"]], "output_core_dims": [["place"]]}
    same(xr.apply_ufunc(standardised, array, **core).data, wanted)
    lazy = xr.DataArray(da.from_array(X, chunks=(2, 10)), dims=("time", "place"))
    result = xr.apply_ufunc(standardised, lazy, **core, dask="parallelized", output_dtypes=[float])
    same(result.compute().data, wanted)
