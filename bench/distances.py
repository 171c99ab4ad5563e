"""The table of the front page: squared distances between all pairs of 2000 points, time and memory beside other libraries.

    python bench/distances.py [--rounds 6] [--threads 2]

Needs NumPy, SciPy, PyTorch and zerostride. Each library runs in processes of its own, in turns. The time is the least of all
runs, the memory the growth of the largest resident set from before the first run to after it, the result included.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

ROWS, COLUMNS, RUNS = 2000, 64, 3


def numpy(a, b):
    return lambda: ((a[:, None] - b) ** 2).sum(-1)


def scipy(a, b):
    from scipy.spatial.distance import cdist

    return lambda: cdist(a, b, "sqeuclidean")


def torch(a, b):
    import torch

    a, b = torch.from_numpy(a), torch.from_numpy(b)
    return lambda: ((a[:, None] - b) ** 2).sum(-1)


def torch_cdist(a, b):
    import torch

    a, b = torch.from_numpy(a), torch.from_numpy(b)
    return lambda: torch.cdist(a, b) ** 2


def zerostride(a, b):
    import zerostride as zs

    distances = zs.fuse(lambda a, b: ((a[:, None] - b) ** 2).sum(-1))
    return lambda: distances(a, b)


LIBRARIES = [numpy, torch, scipy, torch_cdist, zerostride]


def kibibytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure(library):
    """In a process of its own: the least time, the memory of the first run, and the sum of the result."""
    import numpy as np

    random = np.random.default_rng(0)
    run = library(random.random((ROWS, COLUMNS)), random.random((ROWS, COLUMNS)))
    before = kibibytes()
    result = run()
    memory, least = (kibibytes() - before) * 1024, float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        result = run()
        least = min(least, time.perf_counter() - start)
    return least, memory, float(np.asarray(result).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--measure")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(globals()[arguments.measure])))
        return
    environment = os.environ | {"OMP_NUM_THREADS": arguments.threads, "RAYON_NUM_THREADS": arguments.threads}
    found = {library.__name__: [] for library in LIBRARIES}
    for _ in range(arguments.rounds):
        for name, measured in found.items():
            command = [sys.executable, __file__, "--measure", name]
            measured.append(json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout))
    sums = [measured[0][2] for measured in found.values()]
    assert max(sums) - min(sums) < 1e-9 * max(sums), sums
    for name, measured in found.items():
        times, memory, _ = zip(*measured)
        print(f"{name:12} {min(times) * 1e3:8.1f} ms {max(memory) / 1e6:8.1f} MB")


main()
