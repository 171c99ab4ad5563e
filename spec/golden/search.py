"""Searches random arguments of f64 for the largest error of each mathematical function, against MPFR.

`cargo xtask accuracy f64 [NAME,...] [--samples N]` builds the package and runs this; by hand, where the package, NumPy
and gmpy2 are installed:

    python spec/golden/search.py [NAME,...] [--samples 1048576] [--seed 1]

A quarter of the arguments have any bits, the others a magnitude between 2^-12 and 2^10. Errors are in units in the
last place of the result, as in docs/accuracy.md, whose table of these errors it writes. It ends with an error where
one is above the bound that stands there. 2^20 arguments of one function take about half a minute on two processors,
of `digamma` and `trigamma` some minutes.
"""

import argparse
import multiprocessing
import pathlib
import re
import sys

import gmpy2
import numpy as np
import zerostride as zs
from gmpy2 import mpfr

from reference import REAL_UNARY, WORK

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "accuracy.md"
HEADING = "| function of random `f64` | arguments | error | at |\n|---|---|---|---|\n"
# The exponents of most arguments.
USUAL = range(-12, 10)
# Where results of negative arguments have no bound of their own, a unit is one of 1.
REFLECTED = {"lgamma", "digamma"}
PIECE = 1 << 14


def reference(name):
    return REAL_UNARY["gelu(approximate=tanh)" if name == "gelu_tanh" else name]


def drawn(generator, count):
    """So many finite arguments."""
    any_bits = generator.integers(0, 1 << 64, count // 4, dtype=np.uint64).view(np.float64)
    usual = count - len(any_bits)
    exponents = generator.integers(USUAL.start, USUAL.stop, usual)
    usual = np.ldexp(generator.uniform(1, 2, usual), exponents) * generator.choice([-1.0, 1.0], usual)
    arguments = np.concatenate([any_bits, usual])
    return arguments[np.isfinite(arguments)]


def error(name, argument, got):
    """The distance of a finite result from the true one in units in the last place."""
    exact = reference(name)(mpfr(argument))
    if not gmpy2.is_finite(exact):
        return 0.0
    size = abs(exact)
    if name in REFLECTED and argument < 0:
        size = max(size, mpfr(1))
    exponent = gmpy2.get_exp(size) if size else -2000
    return float(gmpy2.mul_2exp(abs(mpfr(got) - exact), int(min(53 - exponent, 1074))))


def piece(task):
    """The largest error among some arguments, and where it is."""
    name, seed, number, count = task
    zs.set_num_threads(1)
    arguments = drawn(np.random.default_rng([seed, number]), count)
    results = np.asarray(getattr(zs, name)(zs.from_dlpack(arguments)))
    is_finite = np.isfinite(results)
    worst, seen = (0.0, 0.0), 0
    with WORK:
        for argument, got in zip(arguments[is_finite].tolist(), results[is_finite].tolist()):
            try:
                worst = max(worst, (error(name, argument, got), argument))
            except (ValueError, ZeroDivisionError):
                continue
            seen += 1
    return name, worst, seen


def bounds():
    """The bound of f64 of each function in the document."""
    table = DOCUMENT.read_text().split("| function | `f32` | `f64` |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| [\d.]+ \| ([\d.]+) \|", table, re.MULTILINE)
    return {name: float(bound) for name, bound in rows}


def write(found):
    """Replaces the rows of these functions in the document."""
    before, rest = DOCUMENT.read_text().split(HEADING)
    table, after = rest.split("\n\n", 1)
    rows = {line.split("`")[1]: line for line in table.splitlines()}
    for name, ((worst, argument), seen) in found.items():
        rounded_up = np.ceil(worst * 1e4) / 1e4
        rows[name] = f"| `{name}` | {seen:,} | {rounded_up:.4f} | {argument!r} |"
    table = "\n".join(rows[name] for name in sorted(rows))
    DOCUMENT.write_text(f"{before}{HEADING}{table}\n\n{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="?", default="", help="only these functions, with commas between")
    parser.add_argument("--samples", type=int, default=1 << 20, help="arguments of each function")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    known = bounds()
    names = options.filter.split(",") if options.filter else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no function {unknown[0]}; those of the document are {' '.join(known)}")
    if options.samples < 1:
        parser.error("--samples is at least 1")
    pieces = -(-options.samples // PIECE)
    count = min(PIECE, options.samples)
    tasks = [(name, options.seed, number, count) for name in names for number in range(pieces)]
    found = {name: ((0.0, 0.0), 0) for name in names}
    # Not forked: the engine has threads.
    with multiprocessing.get_context("spawn").Pool() as pool:
        for done, (name, worst, seen) in enumerate(pool.imap(piece, tasks), 1):
            found[name] = max(found[name][0], worst), found[name][1] + seen
            if done % pieces == 0:
                (largest, argument), total = found[name]
                print(f"{name}: {largest:.4f} at {argument!r}, of {total:,}; bound {known[name]}", flush=True)
    write(found)
    above = [name for name in names if found[name][0][0] > known[name]]
    if above:
        sys.exit(f"above their bounds in {DOCUMENT.name}: {', '.join(above)}")


if __name__ == "__main__":
    main()
