"""Prints the tables of `src/math/normal_tail.rs`, near 16 numbers each: exp(s²/2) Φ(-s), Mills' ratio but for a factor,
and exp(s²) erfc(s).

The places divide a multiple of s, increased by 1, from 1 to 16, four for each exponent. Needs mpmath and numpy.
"""

import numpy
from mpmath import erfc, exp, mpf, sqrt

from fit import literal, rounded

DEGREE = 6
POINTS = 400


def mills(s):
    s = mpf(s)
    return exp(s * s / 2) * erfc(s / sqrt(mpf(2))) / 2


def complement(s):
    s = mpf(s)
    return exp(s * s) * erfc(s)


def least(rows, values):
    """Coefficients with nearly least largest error, by Lawson's algorithm."""
    share, best = numpy.full(len(values), 1 / len(values)), None
    for _ in range(30):
        root = numpy.sqrt(share)
        found = numpy.linalg.lstsq(rows * root[:, None], values * root, rcond=None)[0]
        errors = abs(values - rows @ found)
        if best is None or max(errors) < best[0]:
            best = max(errors), found
        share = share * errors
        share /= sum(share)
    return best[1]


def near(ratio, centre, half):
    """The centre, the ratio there to 12 bits, and a polynomial of what is missing, relative to the ratio."""
    first = rounded(ratio(centre), 12)
    t = half * numpy.cos(numpy.pi * (numpy.arange(POINTS) + 0.5) / POINTS)
    exact = [ratio(centre + x) for x in t]
    weight = numpy.array([float(1 / y) for y in exact])
    missing, fixed = numpy.array([float(y - first) for y in exact]), []
    for power in range(DEGREE + 1):
        rows = numpy.stack([(t / half) ** i for i in range(power, DEGREE + 1)], 1) * weight[:, None]
        fixed.append(float(numpy.float32(least(rows, missing * weight)[0] / half**power)))
        missing = missing - fixed[-1] * t**power
    return [centre, first, *fixed], max(abs(missing * weight))


def table(name, ratio, multiple, reach=1):
    places = []
    for place in range(16):
        # The last two bits of an exponent: those of 2, 4, 8 and 1.
        size = 2.0 ** ((place // 4 + 1) % 4)
        centre = float(numpy.float32((size * (1 + (place % 4 + 0.5) / 4) - 1) / multiple))
        places.append(near(ratio, centre, reach * size / 8 / multiple))
    print(f"// {name}: error {max(error for _, error in places):.2g}")
    for row in zip(*(numbers for numbers, _ in places)):
        print(", ".join(literal(x, 24) for x in row))


if __name__ == "__main__":
    table("MILLS", mills, 1)
    # Rounding the multiple puts a few numbers past the middle between two centres.
    table("COMPLEMENT", complement, 1.48, 1.0001)
