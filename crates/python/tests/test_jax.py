"""JAX's arrays: shared memory, operands, and what fused functions return when they get them."""

import numpy as np
import pytest
import zerostride as zs

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy


def test_arrays_are_seen_where_they_lie():
    x = jnp.arange(6.0).reshape(2, 3)
    tensor = zs.asarray(x)
    assert (tensor.shape, tensor.dtype) == ((2, 3), zs.float32)
    assert tensor.data_ptr() == x.unsafe_buffer_pointer()
    assert not tensor.writable
    with pytest.raises(ValueError, match="read-only"):
        tensor.add_(1)
    assert zs.from_dlpack(x).data_ptr() == x.unsafe_buffer_pointer()
    assert zs.asarray(jnp.ones(3, jnp.bfloat16)).dtype is zs.bfloat16


def test_tensors_are_seen_by_jax():
    tensor = zs.rand(64, 64, seed=1)
    back = jax.dlpack.from_dlpack(tensor)
    np.testing.assert_array_equal(np.asarray(back), tensor.numpy())


def test_ufuncs_of_bfloat16_are_computed_as_without_jax():
    # JAX adds bfloat16 to NumPy's dtypes.
    x = zs.ones(3).bfloat16()
    for found in (np.add(x, 1), np.multiply(x, x), np.matmul(x, x)):
        assert isinstance(found, zs.Tensor) and found.dtype is zs.bfloat16


def test_arrays_are_operands():
    x, y = jnp.arange(3.0), np.ones((2, 1), "f4")
    assert isinstance(zs.add(x, y), zs.Tensor)
    np.testing.assert_array_equal(zs.add(x, y).numpy(), np.arange(3.0) + y)
    assert (zs.ones(3) * x).tolist() == [0, 1, 2]


def test_fused_functions_return_what_went_in():
    distances = zs.fuse(lambda a, b: ((a[:, None] - b) ** 2).sum(-1))
    a = np.random.default_rng(0).random((5, 3), dtype="f4")
    wanted = ((a[:, None] - a) ** 2).sum(-1)
    # JAX's array counts more than a tensor, a tensor more than NumPy's.
    for pair, kind in [
        ((jnp.asarray(a), jnp.asarray(a)), jax.Array),
        ((jnp.asarray(a), a), jax.Array),
        ((zs.asarray(a), jnp.asarray(a)), jax.Array),
        ((zs.asarray(a), a), zs.Tensor),
        ((a, a), np.ndarray),
    ]:
        found = distances(*pair)
        assert isinstance(found, kind)
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)
    assert isinstance(zs.evaluate("x + 1", x=jnp.ones(3)), jax.Array)
