"""The hardest known arguments to round (`worst_cases.txt`), for the answers of `explog.py` and `special.py`."""

from pathlib import Path

import gmpy2
from gmpy2 import mpfr

# Twice a result is nearer to a number of the format than this share of its last place.
NEAR = 2.0**-22, 2.0**-39


def distance(value, precision, least):
    """How far twice the value is from the next multiple of its last place, in those units."""
    quantum = max(gmpy2.get_exp(value) - precision, least)
    scaled = value * mpfr(2) ** (1 - quantum)
    return abs(scaled - gmpy2.rint(scaled))


def worst_cases(name, dtype, function):
    """The arguments of a function in a format, each of which is seen to be hard."""
    rows = []
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.split()[:2] != [name, dtype]:
            continue
        row = tuple(map(float.fromhex, line.split()[2:]))
        precision, least, near = (24, -149, NEAR[0]) if dtype == "f32" else (53, -1074, NEAR[1])
        missed = distance(function(*map(mpfr, row)), precision, least)
        if not 0 < missed < near:
            raise ValueError(f"{name}{row} is not hard to round in {dtype}: {float(missed)}")
        rows.append(row)
    return rows
