"""Signals, threads and processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import zerostride as zs


LONG = """
import signal, time
import zerostride as zs

def interrupt(signum, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
x = zs.rand(20000, 8, seed=1)
distances = zs.fuse(lambda a, b: (a[:, None] - b).lgamma().sum(-1))
signal.setitimer(signal.ITIMER_REAL, 0.2)
start = time.monotonic()
try:
    while True:
        distances(x, x)
except KeyboardInterrupt:
    print(time.monotonic() - start)
assert x.add_(1).amin().item() >= 1
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that signals")
def test_ctrl_c_ends_a_long_evaluation():
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 10


OTHERS = """
import os, signal, sys, threading, time
import zerostride as zs

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell runs the tests in the background
x, other = zs.rand(20000, 8, seed=1), sys.argv[1]
distances = zs.fuse(lambda a, b: (a[:, None] - b).lgamma().sum(-1))
begun = threading.Event()

def interrupt():
    begun.wait()
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)

def sleep():
    time.sleep(1000)

def compute():
    while True:
        sum(range(1000))

def write():
    while True:
        x[:2].add_(0)  # waits, with Python's lock, for the evaluation that reads x

def occupy():
    while True:
        distances(x, x)

for work in [interrupt, {"sleeps": sleep, "computes": compute, "writes": write, "occupies": occupy}[other]]:
    threading.Thread(target=work).start()
if other == "occupies":
    time.sleep(0.1)
start = time.monotonic()
try:
    begun.set()
    while True:
        # Either computes for long, or waits for long: for the other thread, which computes.
        x[:1].add_(0) if other == "occupies" else distances(x, x)
except KeyboardInterrupt:
    print(time.monotonic() - start, flush=True)
os._exit(0)  # what the other thread is at may take long
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot interrupt itself")
@pytest.mark.parametrize("other", ["sleeps", "computes", "writes", "occupies"])
def test_ctrl_c_is_heard_beside_a_thread_that(other):
    command = [sys.executable, "-c", OTHERS, other]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 10


def test_threads_that_share_a_tensor_do_not_wait_for_each_other_forever():
    large, stop = zs.zeros(1 << 22), threading.Event()

    def small():
        while not stop.is_set():
            large[:3].add_(1)

    thread = threading.Thread(target=small)
    thread.start()
    for _ in range(30):
        large.add_(1)
    stop.set()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert large[-1].item() == 30


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


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, None), ({"OMP_NUM_THREADS": "1"}, 1), ({"OMP_NUM_THREADS": "1,4"}, 1), ({"OMP_NUM_THREADS": "0"}, None),
        ({"OMP_NUM_THREADS": "many"}, None), ({"OMP_NUM_THREADS": "1000000"}, None), ({"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "2"}, 2),
    ],
)  # fmt: skip
def test_a_process_has_the_threads_that_it_was_given(variables, wanted):
    program = """
import os, zerostride as zs
started = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1
given = zs.get_num_threads()
zs.set_num_threads(2)
print(started, given, zs.get_num_threads())
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment | variables)
    assert done.returncode == 0, done.stderr
    cores = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(), 65)
    # Importing starts no threads, and the user has the last word.
    assert done.stdout.split() == ["1", str(wanted or cores), str(min(2, cores) if wanted != 2 else 2)]


HANDLER = """
import os, signal, threading, time
import zerostride as zs

x = zs.rand(1 << 25, seed=1)
seen = []

def handler(signum, frame):
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        seen.append(x[0].item())
    except RuntimeError as error:
        assert "an operation of this thread (sin" in str(error), error
        seen.append(None)
    try:
        x[:10].add_(1)
    except RuntimeError as error:
        seen.append(None)
    other = zs.ones(3)
    assert other.add_(1).sum().item() == 6

signal.signal(signal.SIGALRM, handler)
for operation in [x.sin_, x.sin]:
    seen.clear()
    while not seen:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        operation()
    # What is only read may be read, and between two operations everything is free.
    print(operation.__name__, seen)
assert x.fill_(1).sum().item() == 1 << 25
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that signals")
def test_a_handler_that_wants_the_tensor_that_is_written_gets_an_error():
    done = subprocess.run([sys.executable, "-c", HANDLER], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sin_ ["), done.stdout


FORK = """
import os, signal, sys, threading, time, warnings
import zerostride as zs

warnings.simplefilter("ignore", DeprecationWarning)
x, small, stop = zs.rand(1 << 19, seed=1), zs.ones(50), threading.Event()
fused = zs.fuse(lambda a: (a.exp() + 1).sum())
sys.setswitchinterval(1e-5)  # so that some forks find a thread that waits for Python's lock in its first call

def compute(work):
    while not stop.is_set():
        work()

works = [lambda: x.sin_(), lambda: x.exp(), lambda: fused(x), lambda: small.add_(1), lambda: zs.ones(1 << 21).sum()]
threads = [threading.Thread(target=compute, args=(work,)) for work in works]
for thread in threads:
    thread.start()
failed = []
for _ in range(30):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        for work in works:
            work()
        x.fill_(2)
        right = x.sum().item() == 1 << 20 and small.fill_(1).sum().item() == 50 and zs.get_num_threads() == 1
        os._exit(0 if right and x[:3].tolist() == [2, 2, 2] else 1)
    status = os.waitpid(child, 0)[1]
    if status:
        failed.append(status)
stop.set()
for thread in threads:
    thread.join()
print(failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_computes_whatever_other_threads_of_its_parent_were_at():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


NO_CODE = """
import ctypes, math
import zerostride as zs
refuse_executable_memory, from_now_on = 65, 1  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
if ctypes.CDLL(None).prctl(refuse_executable_memory, from_now_on, 0, 0, 0):
    print("cannot")
else:
    x = zs.arange(1 << 18, dtype=zs.float64)
    found = zs.fuse(lambda x: (x * 2 + 1).sqrt() * x)(x)
    assert found[1 << 17:].tolist() == [math.sqrt(n * 2 + 1) * n for n in range(1 << 17, 1 << 18)]
    zs.show_config()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux can refuse memory for code")
def test_where_the_system_refuses_memory_for_code_nothing_is_printed():
    clean = {name: value for name, value in os.environ.items() if name != "ZEROSTRIDE_CODE"}
    done = subprocess.run([sys.executable, "-c", NO_CODE], capture_output=True, text=True, timeout=300, env=clean)
    assert done.returncode == 0, done.stderr
    if done.stdout == "cannot\n":
        pytest.skip("this Linux is older than 6.3, or its processor has no memory that is not executable")
    assert "code         portable: " in done.stdout


MANY = """
import os, resource, sys, threading
import numpy as np
import zerostride as zs

x = np.linspace(0.5, 2.0, 999, dtype=np.float32)
one, other = zs.tensor(x), zs.tensor(x[::-1].copy())
steps = [lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a - b, lambda a, b: b - a * 0.5]

def formula(number):
    def computed(a, b):
        digits, value = number, a
        while digits:
            value = steps[digits % 4](value, b)
            digits //= 4
        return value
    return computed

def is_right(number):
    wanted = formula(number)(x, x[::-1])
    return (np.asarray(zs.fuse(formula(number))(one, other)) == wanted).all()

wrong = []
def part(first):
    for number in range(first, 4000, 4):
        if not is_right(number):
            wrong.append(number)
        if number % 1000 == 1:
            child = os.fork()
            if child == 0:
                os._exit(0 if is_right(number + 1) else 1)
            if os.waitpid(child, 0)[1] != 0:
                wrong.append(-number)

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def run():
    threads = [threading.Thread(target=part, args=(first,)) for first in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

run()
before = memory()
run()
print(wrong, (memory() - before) // 1024 < 32)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_thousands_of_printed_formulas_are_right_in_threads_and_children_and_take_no_more_memory():
    printed = {**os.environ, "ZEROSTRIDE_CODE": "printed"}
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=300, env=printed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[] True\n"
