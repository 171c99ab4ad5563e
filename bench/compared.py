"""The measured rows of docs/compared.md: two formulas in libraries that fuse, beside NumPy, on this machine.

    python bench/compared.py [--rounds 5]

Needs NumPy, numexpr, JAX, blosc2, pykeops (and a C++ compiler, for KeOps) and zerostride; what is not installed is left out.
Each library runs in processes of its own, in turns, on two threads. The time is the least of all runs, after one that compiles.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

POINTS, SIDE, RUNS = 10_000, 4_000, 5


def formulas(library):
    """The two formulas of a library, as functions without arguments; None where it has no such formula."""
    random = np.random.default_rng(0)
    p, q = (random.random((POINTS, 3), dtype=np.float32) for _ in range(2))
    x = random.random((SIDE, SIDE), dtype=np.float32)
    m, s, g, b = (random.random(SIDE, dtype=np.float32) + 1 for _ in range(4))

    def pairs(p, q):
        return np.exp(-((p[:, None] - q) ** 2).sum(-1)).sum(1)

    def chain(x, m, s, g, b):
        return (x - m) / s * g + b

    if library == "NumPy":
        return lambda: pairs(p, q), lambda: chain(x, m, s, g, b)
    if library == "numexpr":
        import numexpr

        numexpr.set_num_threads(2)
        return None, lambda: numexpr.evaluate("(x - m) / s * g + b", {"x": x, "m": m, "s": s, "g": g, "b": b})
    if library == "JAX":
        import jax
        import jax.numpy as jnp

        jitted = jax.jit(lambda p, q: jnp.exp(-((p[:, None] - q) ** 2).sum(-1)).sum(1)), jax.jit(chain)
        p, q, x, m, s, g, b = map(jnp.asarray, (p, q, x, m, s, g, b))
        return lambda: jitted[0](p, q).block_until_ready(), lambda: jitted[1](x, m, s, g, b).block_until_ready()
    if library == "blosc2":
        import blosc2

        blosc2.set_nthreads(2)
        return None, lambda: blosc2.evaluate("(x - m) / s * g + b", local_dict={"x": x, "m": m, "s": s, "g": g, "b": b})
    if library == "KeOps":
        from pykeops.numpy import LazyTensor

        rows, columns = LazyTensor(p[:, None]), LazyTensor(q[None])
        return lambda: (-((rows - columns) ** 2).sum(-1)).exp().sum(1), None
    import zerostride as zs

    fused = zs.fuse(lambda p, q: zs.exp(-((p[:, None] - q) ** 2).sum(-1)).sum(1)), zs.fuse(chain)
    return lambda: fused[0](p, q), lambda: fused[1](x, m, s, g, b)


def measure(library):
    """For each formula the least time in seconds and the sum of the result."""
    results = []
    for run in formulas(library):
        if run is None:
            results.append(None)
            continue
        result, least = run(), float("inf")
        for _ in range(RUNS):
            start = time.perf_counter()
            result = run()
            least = min(least, time.perf_counter() - start)
        results.append((least, float(np.asarray(result, dtype=np.float64).sum())))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure")
    arguments = parser.parse_args()
    if arguments.measure:
        print("RESULT" + json.dumps(measure(arguments.measure)))
        return
    threads = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "2")
    found = {library: [] for library in ("NumPy", "numexpr", "JAX", "blosc2", "KeOps", "zerostride")}
    for _ in range(arguments.rounds):
        for library, measured in found.items():
            command = [sys.executable, __file__, "--measure", library]
            done = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True)
            if done.returncode == 0:
                measured.append(json.loads(done.stdout.rpartition("RESULT")[2]))
            else:
                print(f"{library}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    for library, measured in found.items():
        for number, formula in enumerate(("pairs", "chain")):
            if runs := [measures[number] for measures in measured if measures[number]]:
                print(f"{library:10} {formula} {min(runs)[0] * 1e3:9.2f} ms, sum {runs[0][1]:.6g}")


main()
