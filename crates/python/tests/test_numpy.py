"""NumPy's own functions on tensors: ours where we have them, NumPy's on the same memory where not."""

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


def test_bfloat16_says_what_to_do():
    with pytest.raises(TypeError, match="NumPy has no bfloat16: convert the tensor first"):
        np.median(zs.ones(3).bfloat16())
