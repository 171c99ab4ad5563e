"""Formulas of all pairs on two processes with a memory limit: fused functions of dask arrays beside dask.array alone.

    python bench/large/pairs.py [--rows 200000] [--columns 8] [--chunk 4000] [--memory 1GB] [--kill] [--seconds 600]

Two jobs on `rows` x `rows` pairs of f32 vectors: `((a[:, None] - b) ** 2).sum(-1)`, of which the sum of each row is taken so
that the result fits anywhere, and the row sums of an RBF kernel. A fused function takes chunks of `--chunk` rows; dask.array
takes chunks of which a stretched block (chunk x chunk x columns) has at most 128 MiB, its own limit, so that it can run at all.
Each job runs on a new cluster of two processes with one thread each. Peak memory is that of the larger worker, sampled ten
times a second, and what a worker has before the job is told apart. `--kill` runs the fused jobs once more, with a worker killed
in the middle. What takes longer than `--seconds`, and dask.array alone where it takes longer than the fused function, is
stopped, and the table says how many tasks were left. Results are compared with NumPy's at four rows.
"""

import argparse
import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import psutil
import zerostride as zs
from distributed import Client, LocalCluster


def squares(a, b):
    return ((a[:, None] - b) ** 2).sum(-1).sum(1)


def kernel(a, b):
    return zs.exp(-((a[:, None] - b) ** 2).sum(-1)).sum(1)


def kernel_of_dask(a, b):
    return da.exp(-((a[:, None] - b) ** 2).sum(-1)).sum(1)


JOBS = [("squared distances", squares, squares), ("RBF row sums", kernel, kernel_of_dask)]


def measured(make, limit, seconds, kill_after):
    """Seconds, peak and first memory of the larger worker, the result, and a note."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=limit, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(__import__, "zerostride")
        pids, peak, note = list(client.run(os.getpid).values()), 0, ""
        first = max(psutil.Process(pid).memory_info().rss for pid in pids)
        done = threading.Event()

        def sample():
            nonlocal peak
            while not done.wait(0.1):
                for process in psutil.Process().children(recursive=True):
                    try:
                        peak = max(peak, process.memory_info().rss)
                    except psutil.NoSuchProcess:
                        continue

        watch = threading.Thread(target=sample)
        watch.start()
        start = time.perf_counter()
        future = client.compute(make())
        if kill_after:
            time.sleep(kill_after)
            os.kill(pids[0], signal.SIGKILL)
            note = "a worker killed"
        try:
            result = future.result(timeout=seconds)
        except TimeoutError:
            states = client.run_on_scheduler(lambda dask_scheduler: [task.state for task in dask_scheduler.tasks.values()])
            left = sum(state in ("waiting", "processing", "no-worker", "queued") for state in states)
            result, note = None, f"stopped with {left} tasks left"
        except Exception as error:
            result, note = None, f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"
        taken = time.perf_counter() - start
        done.set()
        watch.join()
        return taken, peak, first, result, note


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--chunk", type=int, default=4_000)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(given.rows, given.columns)).astype("f4") for _ in range(2))
    stretched = int((128 << 20) / 4 / given.columns) ** 0.5
    print(f"{given.rows:,} x {given.rows:,} pairs of {given.columns} f32; two workers of {given.memory}; a stretched block of "
          f"{given.chunk} x {given.chunk} would have {given.chunk**2 * given.columns * 4 / 1e9:.2f} GB\n")  # fmt: skip
    print("| job | how | seconds | peak of a worker | before | note |\n|---|---|---:|---:|---:|---|", flush=True)
    for name, ours, theirs in JOBS:
        fused = "fused", zs.fuse(ours), given.chunk
        ways = [fused, *[fused] * given.kill, ("dask.array", theirs, min(int(stretched), given.rows))]
        undisturbed = None
        for how, function, chunk in ways:
            kill_after = undisturbed / 2 if undisturbed and how == "fused" else None
            most = given.seconds if how == "fused" else undisturbed
            lazy = [da.from_array(x, chunks=(chunk, given.columns)) for x in (a, b)]
            taken, peak, first, result, note = measured(lambda: function(*lazy), given.memory, most, kill_after)
            if result is not None:
                for row in range(0, given.rows, -(-given.rows // 4)):
                    np.testing.assert_allclose(result[row], ours(zs.asarray(a[row : row + 1]), zs.asarray(b)).item(), rtol=1e-4)
                note = "; ".join(filter(None, [note, "right"]))
            undisturbed = undisturbed or taken
            print(f"| {name} | {how}, chunks of {chunk:,} | {taken:.1f} | {peak / 1e6:.0f} MB | {first / 1e6:.0f} MB | {note} |", flush=True)


if __name__ == "__main__":
    main()
