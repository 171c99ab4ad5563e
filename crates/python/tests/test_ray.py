"""Ray: its store hands arrays and tensors to other processes without copies, and fused functions take them as they are."""

import warnings

import numpy as np
import pytest
import zerostride as zs

ray = pytest.importorskip("ray", reason="ray is not installed")

X = np.random.default_rng(0).random((1000, 100))
STORE_BYTES = 80_000_000


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with warnings.catch_warnings(action="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")  # or Ray writes a token into the home directory
        ray.init(num_cpus=1, object_store_memory=STORE_BYTES, include_dashboard=False, log_to_driver=False, configure_logging=False)
        yield
        ray.shutdown()


def standardising():
    """A fused function that other processes cannot import: it travels by value."""
    return zs.fuse(lambda x: (x - x.mean(0)) / x.std(0, correction=0))


def test_an_array_of_the_store_is_taken_without_a_copy():
    array = ray.get(ray.put(X))
    tensor = zs.asarray(array)
    assert tensor.data_ptr() == array.ctypes.data
    with pytest.raises(ValueError, match="read-only.*clone"):
        tensor[0, 0] = 1.0
    np.testing.assert_allclose(standardising()(array), (X - X.mean(0)) / X.std(0))


def test_a_tensor_lies_in_the_store_once():
    reference = ray.put(zs.asarray(X))
    first, second = ray.get(reference), ray.get(reference)
    assert first.data_ptr() == second.data_ptr()
    np.testing.assert_array_equal(first, X)
    with pytest.raises(ValueError, match="read-only.*clone"):
        first[0, 0] = 1.0


def test_a_stretched_tensor_takes_its_own_elements_along():
    stretched = zs.asarray(X[0]).expand(10**6, 100)
    assert stretched.numel() * stretched.element_size() > STORE_BYTES
    back = ray.get(ray.put(stretched))
    assert (back.shape, back.stride()) == (stretched.shape, stretched.stride())
    np.testing.assert_array_equal(back[-1], X[0])


@pytest.mark.parametrize("given", [np.asarray, zs.asarray])
def test_other_processes_call_fused_functions_on_it(given):
    task = ray.remote(lambda x: zs.fuse(lambda x: (x * 2).sum(0))(x))
    found = ray.get(task.remote(ray.put(given(X))))
    assert isinstance(found, type(given(X)))
    np.testing.assert_allclose(found, (X * 2).sum(0))
    # A fused function itself travels, too.
    found = ray.get(ray.remote(lambda f, x: f(x)).remote(standardising(), given(X)))
    np.testing.assert_allclose(found, (X - X.mean(0)) / X.std(0))


def test_a_task_has_the_threads_that_ray_gives_it():
    assert ray.get(ray.remote(lambda: zs.get_num_threads()).remote()) == 1
