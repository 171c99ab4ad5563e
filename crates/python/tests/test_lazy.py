"""Arrays whose elements are elsewhere are not loaded without a word: the error says what to write."""

import numpy as np
import pytest
import zerostride as zs

X = np.arange(12.0).reshape(3, 4)


def dask_array(folder):
    return pytest.importorskip("dask.array", reason="dask is not installed").from_array(X, chunks=(1, 4))


def xarray_of_dask(folder):
    return pytest.importorskip("xarray", reason="xarray is not installed").DataArray(dask_array(folder), dims=("a", "b"))


def h5py_dataset(folder):
    file = pytest.importorskip("h5py", reason="h5py is not installed").File(folder / "x.h5", "w")
    return file.create_dataset("x", data=X)


def zarr_array(folder):
    return pytest.importorskip("zarr", reason="zarr is not installed").array(X)


MAKERS = [dask_array, xarray_of_dask, h5py_dataset, zarr_array]


@pytest.mark.parametrize("make", MAKERS)
def test_no_operation_loads_them(make, tmp_path):
    x, y = make(tmp_path), zs.asarray(X)
    runs = [
        zs.exp, lambda x: zs.add(y, x), lambda x: zs.sum(x), lambda x: zs.cat([y, x]), lambda x: zs.sort(x), lambda x: zs.where(y > 1, x, y),
        lambda x: zs.fuse(lambda x: x + 1).plan(x), lambda x: zs.fuse(lambda a: a + x)(y),
        lambda x: y.copy_(x), lambda x: zs.from_numpy(x), lambda x: y.matmul(x), lambda x: zs.broadcast_to(x, (2, 3, 4)),
    ]  # fmt: skip
    # Fused functions of dask arrays are lazy (test_chunked.py).
    if make is not dask_array:
        runs += [
            zs.fuse(lambda x: x + 1), lambda x: zs.fuse(lambda a, b: a + b)(y, x),
            lambda x: zs.evaluate("x + 1", x=x), lambda x: zs.evaluate(lambda x: x + 1, x=x),
        ]  # fmt: skip
    for run in runs:
        with pytest.raises(TypeError, match=r"load it whole.*(map_blocks|x\[:1000\])"):
            run(x)


@pytest.mark.parametrize("make", MAKERS)
def test_who_converts_them_has_their_elements(make, tmp_path):
    x = make(tmp_path)
    np.testing.assert_array_equal(zs.asarray(x).numpy(), X)
    np.testing.assert_array_equal(zs.tensor(x, dtype=zs.float32).numpy(), X)
    np.testing.assert_array_equal(zs.asarray(x[:2]).numpy(), X[:2])


def test_what_the_message_says_works():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    f, x = zs.fuse(lambda x: x * 2 + 1), dask_array(None)
    np.testing.assert_array_equal(da.map_blocks(f, x).compute(), 2 * X + 1)
    np.testing.assert_array_equal(f(x.compute()), 2 * X + 1)
    lazy = xr.DataArray(x, dims=("a", "b"))
    np.testing.assert_array_equal(xr.apply_ufunc(f, lazy, dask="parallelized", output_dtypes=[float]).compute(), 2 * X + 1)


def test_arrays_in_memory_that_could_be_elsewhere_are_taken():
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    array = xr.DataArray(X, dims=("a", "b"))
    np.testing.assert_array_equal(zs.add(array, 1).numpy(), X + 1)
    np.testing.assert_array_equal(zs.fuse(lambda x: x + 1)(array), X + 1)


def test_arrays_that_are_mapped_are_taken(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(zs.fuse(lambda x: x + 1)(mapped), X + 1)


def test_a_file_that_xarray_has_only_opened_is_not_loaded(tmp_path):
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("scipy", reason="scipy, which reads netCDF here, is not installed")
    xr.Dataset({"x": (("a", "b"), X)}).to_netcdf(tmp_path / "x.nc", engine="scipy")
    x = xr.open_dataset(tmp_path / "x.nc", engine="scipy")["x"]
    with pytest.raises(TypeError, match=r"load it whole.*x\.load\(\)"):
        zs.exp(x)
    np.testing.assert_array_equal(zs.exp(x.load()).numpy(), np.exp(X))
