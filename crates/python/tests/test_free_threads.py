"""Eight threads on shared arrays: what one operation does to an array is done as a whole, with the GIL and without it."""

import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
import zerostride as zs

THREADS = 8
# Small arrays are computed on while the calling thread keeps the GIL, large ones without it, by the engine's
# own threads too.
SIZES = (1, 100, 1 << 17)
# A dtype's operations on small arrays run without claims, by several kernels.
DTYPES = ("float32", "int64", "complex128", "bfloat16")


def together(work, threads=THREADS):
    """Calls `work` with a number in each of several threads that begin at the same time; an error of one is raised."""
    start, errors = threading.Barrier(threads), []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture(autouse=True)
def often():
    """With the GIL, threads take turns after a thousandth of the usual time."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has the GIL")
def test_the_module_does_not_bring_the_gil_back():
    code = "import sys, zerostride; print(sys._is_gil_enabled())"
    # Without a say in it, which the environment of these tests may have.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_addition_in_place_is_lost(size, dtype):
    shared, times = zs.zeros(size, dtype=getattr(zs, dtype)), 16

    def add(number):
        for _ in range(times):
            shared.add_(1)

    together(add)
    assert np.unique(np.asarray(shared.to(zs.complex128))).tolist() == [THREADS * times]


@pytest.mark.parametrize("size", SIZES)
def test_a_reader_sees_no_half_of_a_write(size):
    shared, torn = zs.zeros(size, dtype=zs.int64), []

    def work(number):
        for value in range(60):
            if number % 2:
                shared.fill_(number * 100 + value)
            else:
                least, most = zs.aminmax(shared + 0)
                torn.extend([(least, most)] if least.item() != most.item() else [])

    together(work)
    assert torn == []


def test_views_and_numpys_arrays_share_memory_with_all():
    array = np.zeros((THREADS, 1000))
    shared = zs.asarray(array)

    def work(number):
        for _ in range(50):
            own = zs.asarray(array)[number]
            own += 1
            shared.T[:, number].mul_(1)
            assert np.asarray(own)[0] >= 1

    together(work)
    assert np.unique(array).tolist() == [50]


def test_a_fused_function_is_shared_by_threads_with_other_shapes_and_dtypes():
    calls = []

    @zs.fuse
    def softmax(x):
        calls.append(x.shape)
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def work(number):
        for turn in range(30):
            x = np.linspace(0, number, 24 * (turn % 5 + 1), dtype=("f4", "f8")[turn % 2]).reshape(turn % 5 + 1, -1)
            wanted = np.exp(x - x.max(-1, keepdims=True))
            np.testing.assert_allclose(softmax(x), wanted / wanted.sum(-1, keepdims=True), rtol=1e-5)

    together(work)
    # A signature may be traced by several threads at once, but not each time.
    assert len(calls) < THREADS * 30


def test_writes_to_one_target_are_all_of_one_thread():
    target = zs.zeros(300, 300)

    def work(number):
        mine = zs.full((300, 1), float(number))
        for _ in range(20):
            zs.add(mine, zs.zeros(300), out=target)
            assert zs.aminmax(target.clone())[0].item() in range(THREADS)

    together(work)
    assert len(np.unique(np.asarray(target))) == 1


def test_memory_settings_and_policies_are_asked_for_by_all():
    def work(number):
        for turn in range(30):
            x = zs.rand(1 << 12, seed=number)
            held = [x.sort().values, x.unsqueeze(1) @ x.unsqueeze(0)[:, :8], x.cumsum(0)]
            with zs.policy(mutual_stretch="error" if number % 2 else "allow"):
                try:
                    (x[:, None] + x[:4]).sum()
                    assert number % 2 == 0
                except zs.BroadcastError:
                    assert number % 2 == 1
            del held
            if turn % 10 == number:
                zs.pool.trim()
                zs.set_num_threads(1 + turn % 3)

    before = zs.get_num_threads()
    together(work)
    zs.set_num_threads(before)


def test_errors_of_threads_are_their_own():
    def work(number):
        for _ in range(50):
            with pytest.raises(RuntimeError, match=rf"tensor a \({number + 2}\) must match the size of tensor b \({number + 20}\)"):
                zs.ones(number + 2) + zs.ones(number + 20)

    together(work)
