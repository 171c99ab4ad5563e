"""Products: which operands they take, and when these promote: called as NumPy's and the standard's, not as PyTorch's."""

import itertools

import numpy as np
import pytest
import zerostride as zs

ones = zs.ones


def test_they_are_the_matrix_product():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    assert zs.mm(x, y).tolist() == zs.tensor(x).mm(mat2=y).tolist() == (x @ y).tolist()
    assert zs.mv(x, y[:, 0]).tolist() == (x @ y[:, 0]).tolist()
    assert zs.dot(x[0], tensor=x[1]).item() == x[0] @ x[1]
    assert zs.bmm(np.stack([x, x]), np.stack([y, y])).tolist() == [(x @ y).tolist()] * 2
    np.testing.assert_array_equal(zs.fuse(lambda x, y: zs.mm(x, y) + 1)(x, y), x @ y + 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: zs.mm(ones(2), ones(2, 3)), "mm: self must be a matrix, got 1-D tensor"),
        (lambda: zs.mm(ones(2, 3), ones(3)), "mm: mat2 must be a matrix, got 1-D tensor"),
        (lambda: zs.mm(ones(2, 3), ones(2, 3)), r"mm: mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda: zs.bmm(ones(2, 3), ones(2, 3)), "batch1 must be a 3D tensor"),
        (lambda: zs.bmm(ones(2, 3, 4), ones(2, 3)), "batch2 must be a 3D tensor"),
        (lambda: zs.bmm(ones(2, 3, 4), ones(1, 4, 3)), r"batch2 tensor to be: \[2, 4\] but got: \[1, 4\]."),
        (lambda: zs.bmm(ones(2, 3, 4), ones(2, 3, 3)), r"batch2 tensor to be: \[2, 4\] but got: \[2, 3\]."),
        (lambda: zs.mv(ones(2, 3, 3), ones(3)), r"vector \+ matrix @ vector expected, got 1, 3, 1"),
        (lambda: zs.mv(ones(2, 3), ones(2)), r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
        (lambda: zs.dot(ones(2, 2), ones(2)), "1D tensors expected, but got 2D and 1D tensors"),
        (lambda: zs.dot(ones(2), ones(2).double()), "expected both vectors to have same dtype, but found Float and Double"),
    ],
)
def test_other_shapes_are_refused_in_pytorchs_words(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


X, Y = np.arange(6).reshape(2, 3), np.arange(6)[::-1].reshape(2, 3)
PAIRS = list(itertools.product("? u1 i4 i8 f4 f8 c8".split(), repeat=2))
NUMPY = """
np.matmul(x, y.T) | np.matvec(x, y[0]) | np.vecmat(x[0], y.T) | np.vecdot(x, y) | np.dot(x, y.T) | np.dot(x, y[0]) |
np.dot(x, 2) | np.inner(x, y) | np.inner(x, y[0]) | np.outer(x, y) | np.vdot(x, y) | np.kron(x, y[0]) | np.kron(x[0], y) | np.tensordot(x, y) |
np.tensordot(x, y, axes=([1], [1])) | np.tensordot(x, y, 0) | np.einsum("ij,kj->ik", x, y) | np.einsum("ij,ij->i", x, y) |
np.einsum(x, [0, 1], y, [2, 1], optimize=True)
""".replace("\n", " ").split(" | ")


def same(found, wanted):
    found = np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("product", NUMPY)
def test_numpys_products_promote_as_numpy_does(product):
    run = eval(f"lambda x, y: {product}", {"np": np})
    for dtypes in PAIRS:
        x, y = X.astype(dtypes[0]), Y.astype(dtypes[1])
        wanted = run(x, y)
        tensors = zs.tensor(x), zs.tensor(y)
        for given in (tensors, (tensors[0], y), (x, tensors[1])):
            found = run(*given)
            assert isinstance(found, zs.Tensor) or given[0] is x and "y" not in product
            same(found, wanted)
        same(zs.fuse(run)(x, y), wanted)


@pytest.mark.parametrize(
    "product", "np.tensordot(x, y, ([1], [1])) | np.tensordot(x, y, 2) | np.dot(x, y.T) | np.inner(x, y) | np.vecdot(x, y) | np.vdot(x, y)".split(" | ")
)
def test_numpys_and_the_standards_products_stretch_no_dimension_that_they_sum_over(product):
    run = eval(f"lambda x, y: {product}", {"np": np})
    for call in (run, zs.fuse(run)):
        with pytest.raises(ValueError):
            call(zs.ones(2, 3), zs.ones(2, 1))
    xp = zs.zeros(1).__array_namespace__()
    for call in (lambda x, y: xp.tensordot(x, y, axes=(1, 1)), xp.tensordot, xp.vecdot, lambda x, y: xp.vecdot(x.T, y.T, axis=-2)):
        with pytest.raises(ValueError, match="same sizes"):
            call(zs.ones(2, 3), zs.ones(2, 1))
    # PyTorch does.
    assert zs.tensordot(zs.ones(2, 3), zs.ones(2, 1), ([1], [1])).shape == (2, 2)


def test_traced_products_of_bfloat16_keep_it():
    x = zs.tensor(X).bfloat16()
    for product in (np.matmul, np.dot, np.inner, np.tensordot):
        assert product(x, x.T if product in (np.matmul, np.dot) else x).dtype is zs.bfloat16


@pytest.mark.parametrize("dtypes", [pair for pair in PAIRS if pair[0] != pair[1] and "u1" not in pair])
def test_the_standards_products_promote_as_it_says(dtypes):
    xp = zs.zeros(1).__array_namespace__()
    x, y = (zs.tensor(array.astype(dtype)) for array, dtype in zip((X, Y), dtypes, strict=True))
    for name in ("matmul", "tensordot", "vecdot"):
        for product in (getattr(xp, name), getattr(xp.linalg, name)):
            for run in (product, zs.fuse(product)):
                found = run(x, y.T if name == "matmul" else y)
                assert found.dtype is zs.promote_types(x.dtype, y.dtype)
    assert xp.linalg.outer(x[0], y[0]).dtype is zs.promote_types(x.dtype, y.dtype)


@pytest.mark.parametrize(
    "product",
    """zs.matmul(x, y.T) | x @ y.T | x.matmul(y.T) | zs.mm(x, y.T) | zs.mv(x, y[0]) | zs.dot(x[0], y[0]) | zs.bmm(x[None], y.T[None]) | \
zs.vecdot(x, y) | zs.tensordot(x, y) | zs.tensordot(x, y, axes=2) | zs.einsum("ij,kj->ik", x, y)""".split(" | "),
)
def test_pytorchs_products_take_one_dtype(product):
    run = eval(f"lambda x, y: {product}", {"zs": zs})
    for call in (run, zs.fuse(run)):
        with pytest.raises(RuntimeError, match="dtype|scalar type"):
            call(zs.tensor(X).float(), zs.tensor(Y).double())


def test_opt_einsum_promotes_as_numpy_does():
    opt_einsum = pytest.importorskip("opt_einsum", reason="opt_einsum is not installed")
    # The first is a `tensordot` for it, the second an `einsum`.
    for equation in ("ij,kj->ik", "ij,ij->i", "ij,kj,ij->k"):
        for dtypes in PAIRS:
            operands = [array.astype(dtype) for array, dtype in zip((X, Y, X), (*dtypes, "f4"), strict=True)][: equation.count(",") + 1]
            found = opt_einsum.contract(equation, *map(zs.tensor, operands))
            assert isinstance(found, zs.Tensor)
            same(found, np.einsum(equation, *operands))
