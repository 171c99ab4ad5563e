"""Signals, threads and processes."""

import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest
import zerostride as zs


@pytest.mark.skipif(sys.platform == "win32", reason="signals to oneself")
def test_ctrl_c_ends_a_long_evaluation():
    x = zs.rand(1 << 20, 8, seed=1)
    f = zs.fuse(lambda x: (x[:, None].lgamma() - x).exp().sum())
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            f(x)
            ((x[:20000, None] - x[:20000]) ** 2).sum()
    assert time.monotonic() - start < 10
    assert x.sum().item() > 0


def test_other_threads_run_meanwhile():
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    x = zs.rand(3000, 16, seed=1)
    distances = zs.fuse(lambda a, b: ((a[:, None] - b).abs().lgamma()).sum(-1))
    before = len(ticks)
    distances(x, x)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during > 3


def _sum(count):
    return (zs.ones(count) + 1).sum().item()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes(method):
    _sum(1 << 20)
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map_async(_sum, [1 << 20, 10]).get(timeout=120) == [2 << 20, 20]


def test_the_number_of_threads():
    before = zs.get_num_threads()
    x = zs.rand(1 << 20, seed=1)
    sums = set()
    for threads in (1, 2, before):
        zs.set_num_threads(threads)
        sums.add(x.exp().sum().item())
    assert zs.get_num_threads() == before
    assert len(sums) == 1
