"""Extremes, medians, quantiles and means that pass over NaN, beside NumPy and torch."""

import numpy as np
import pytest
import zerostride as zs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)
NUMBERS = st.one_of(st.floats(-100, 100, width=32), st.just(float("nan")), st.sampled_from([0.0, 1.0, 1.0, 2.0]))
ARRAYS = hnp.arrays("f4", hnp.array_shapes(max_dims=3, max_side=6), elements=NUMBERS)
HOW = st.sampled_from(["linear", "lower", "higher", "midpoint", "nearest"])


def same(found, wanted, **tolerance):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), **({"rtol": 1e-6, "atol": 1e-5} | tolerance))


@given(ARRAYS, st.floats(0, 1), HOW, st.data())
@SETTINGS
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_quantiles_as_numpy(x, q, how, data):
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    keepdim = data.draw(st.booleans())
    # Not of the first type, whose rounding of places NumPy does otherwise.
    wanted = np.quantile(x.astype("f8"), np.float32(q), axis=axis, keepdims=keepdim, method="linear")
    same(zs.quantile(x.astype("f8"), np.float32(q), axis, keepdim), wanted)
    same(zs.nanquantile(x.astype("f8"), np.float32(q), axis, keepdim), np.nanquantile(x.astype("f8"), np.float32(q), axis=axis, keepdims=keepdim))
    assert zs.quantile(x, [0.25, q], axis, keepdim, interpolation=how).shape == (2, *wanted.shape)


@given(ARRAYS, st.data())
@SETTINGS
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:All-NaN")
def test_reductions_as_numpy(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(zs.nansum(x, axis), np.nansum(x, axis))
    same(zs.nanmean(x, axis), np.nanmean(x, axis))
    same(zs.max(x, axis).values, x.max(axis))
    same(zs.max(x), x.max())
    same(zs.min(x, axis).indices, x.argmin(axis))
    same(zs.aminmax(x, dim=axis).min, x.min(axis))
    spread, mean = zs.std_mean(x, axis, correction=0)
    same(mean, x.mean(axis))
    same(spread, x.std(axis), atol=1e-4)
    ordered = np.sort(x, axis)
    middle = (x.shape[axis] - 1) // 2
    wanted = np.where(np.isnan(x).any(axis), np.nan, ordered.take(middle, axis))
    found = zs.median(x, axis)
    same(found.values, wanted)
    same(np.take_along_axis(x, np.expand_dims(np.asarray(found.indices), axis), axis).squeeze(axis), wanted)
    same(zs.kthvalue(x, 1, axis).values, ordered.take(0, axis))


@given(ARRAYS, st.floats(0, 1), HOW, st.data())
@SETTINGS
def test_everything_as_torch(x, q, how, data):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    t = torch.from_numpy(x)
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    keepdim = data.draw(st.booleans())
    for name in ("median", "nanmedian", "max", "min"):
        same(getattr(zs, name)(x), getattr(torch, name)(t), rtol=0, atol=0)
        same(getattr(zs, name)(x, dim, keepdim)[0], getattr(torch, name)(t, dim, keepdim)[0], rtol=0, atol=0)
    for name in ("max", "min"):
        same(getattr(zs, name)(x, dim)[1], getattr(torch, name)(t, dim)[1])
    # PyTorch contracts steps of `lerp`, which are rounded here.
    unit = np.spacing(np.abs(x[np.isfinite(x)]).max(initial=0))
    for name in ("quantile", "nanquantile"):
        for which in (None, dim):
            same(getattr(zs, name)(x, q, which, keepdim, interpolation=how), getattr(torch, name)(t, q, which, keepdim, interpolation=how), rtol=0, atol=unit)
    for name in ("nansum", "nanmean"):
        same(getattr(zs, name)(x, dim, keepdim), getattr(torch, name)(t, dim, keepdim))
    k = data.draw(st.integers(1, x.shape[dim]))
    same(zs.kthvalue(x, k, dim, keepdim)[0], torch.kthvalue(t, k, dim, keepdim)[0])
    assert zs.equal(x, x) == torch.equal(t, t)
    assert zs.allclose(x, x, equal_nan=True)
    same(zs.clip(x, -1, 1), torch.clip(t, -1, 1))


def test_covariances_and_correlations_are_torchs(torch):
    x = np.random.default_rng(1).normal(size=(3, 50))
    counts, weights = np.arange(50) % 4, np.linspace(0, 1, 50)
    t, c, w = map(torch.from_numpy, (x, counts, weights))
    near = {"rtol": 1e-12, "atol": 1e-12}
    same(zs.corrcoef(x), torch.corrcoef(t), **near)
    same(zs.corrcoef(x), np.corrcoef(x), **near)
    same(zs.tensor(x).cov(), t.cov(), **near)
    same(zs.cov(x, correction=0, fweights=counts, aweights=weights), torch.cov(t, correction=0, fweights=c, aweights=w), **near)
    same(zs.fuse(lambda x: zs.corrcoef(x * 2) + 1)(x), torch.corrcoef(t) + 1, **near)
    same(zs.grad(lambda x: (zs.corrcoef(x) ** 2).sum())(x), torch.func.grad(lambda t: (torch.corrcoef(t) ** 2).sum())(t), **near)
    with pytest.raises(RuntimeError, match="aweights cannot be negative"):
        zs.cov(x, aweights=-weights)
    with pytest.raises(TypeError, match="too many arguments"):
        zs.cov(x, 1)


def test_in_fused_functions():
    x = np.array([[1.0, np.nan, 5.0], [4.0, 2.0, 3.0]])
    found = zs.fuse(lambda x: (x.nanmean(1), x.max(1).values, x.min(), x.clip(2, 4), x.std_mean(0)[1]), rules="torch")(x)
    same(found[0], [3, 3])
    same(found[1], [np.nan, 4])
    same(found[3], np.clip(x, 2, 4))
    with pytest.raises(zs.TraceError, match=r"median\(\) needs the elements"):
        zs.fuse(lambda x: x.median())(x)


def test_operands_from_outside_meet_traced_ones():
    outside = zs.tensor([1.0, 5.0])
    larger = zs.fuse(lambda x: zs.max(outside, other=x))
    held = zs.fuse(lambda x: outside.clip(x, x + 1))
    for x in ([3.0, 3.0], [0.0, 9.0]):
        same(larger(np.array(x)), np.maximum([1, 5], x))
        same(held(np.array(x)), np.clip([1, 5], x, np.array(x) + 1))


def test_errors_are_pytorchs():
    x = zs.ones(2, 3)
    for run, error, text in [
        (lambda: zs.zeros(0).max(), RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."),
        (lambda: zs.zeros(0, 3).min(0), IndexError, "min(): Expected reduction dim 0 to have non-zero size."),
        (lambda: zs.zeros(0, 3).median(0), IndexError, "median(): Expected reduction dim 0 to have non-zero size."),
        (lambda: x.kthvalue(4), RuntimeError, "kthvalue(): selected number k out of range for dimension 1"),
        (lambda: x.quantile(zs.tensor([0.5, 1.5])), RuntimeError, "quantile() q values must be in the range [0, 1]"),
        (lambda: x.long().nanmean(), NotImplementedError, "nanmean(): expected input to have floating point or complex dtype but got Long"),
        (lambda: x.long().var_mean(), NotImplementedError, "var_mean only support floating point and complex dtypes"),
        (lambda: x.mean(dtype=zs.int16), NotImplementedError, "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: Short"),
        (lambda: x.to(zs.complex64).max(), NotImplementedError, "\"max_all\" not implemented for 'ComplexFloat'"),
        (lambda: x.to(zs.complex64).min(0), TypeError, "min(): does not support complex input"),
        (lambda: x.to(zs.complex64).aminmax(), TypeError, "aminmax not implemented for ComplexFloat"),
        (lambda: (x > 0).median(1), NotImplementedError, "\"median_out\" not implemented for 'Bool'"),
    ]:
        with pytest.raises(error) as caught:
            run()
        assert str(caught.value) == text


def test_sums_have_the_dtype_that_is_asked_for():
    x = zs.tensor([[100, 200], [50, 7]])
    for run in (zs.sum, zs.nansum, lambda x, **kw: zs.fuse(lambda x: x.sum(**kw))(x)):
        assert (run(x, dtype=zs.int8).dtype, run(x, dtype=zs.int8).item()) == (zs.int8, 101)
        assert (run(x, dim=1, dtype=zs.int32).dtype, run(x, dim=1, dtype=zs.int32).tolist()) == (zs.int32, [300, 57])
        assert run(x, dtype=zs.float64).dtype == zs.float64
    assert (x.prod(dtype=zs.uint8).dtype, x.prod(dtype=zs.uint8).item()) == (zs.uint8, 100 * 200 * 50 * 7 % 256)
    assert x.sum().dtype == zs.int64


def test_extremes_of_two_are_element_by_element():
    x, y = zs.tensor([1, 5]), zs.tensor([3, 2])
    assert x.max(y).tolist() == zs.max(x, other=y).tolist() == [3, 5]
    assert x.min(np.array([3, 2])).tolist() == [1, 2]
    assert zs.tensor([[True, False]]).max(1).values.tolist() == [True]
