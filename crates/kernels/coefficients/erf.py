"""Prints the tables of `src/math/erf_table.rs`: erf(x) / x near the multiples of a step, in powers of the distance.

Run: `python erf.py`. One line holds a coefficient's 16 values, one for each multiple; the last line is what the first misses.
"""

from mpmath import mp, mpf

mp.dps = 60

STEP = mpf(25) / 64
TERMS = 13


def ratio(x):
    return mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi)


def fit(multiple):
    """The polynomial that is nearly the closest, lowest power first."""
    centre = multiple * STEP
    p = mp.chebyfit(lambda t: ratio(centre + t), [-STEP / 2, STEP / 2], TERMS)[::-1]
    # Around 0 the function is even.
    return [c if multiple or power % 2 == 0 else mpf(0) for power, c in enumerate(p)]


if __name__ == "__main__":
    polynomials = [fit(multiple) for multiple in range(16)]
    rows = [[float(p[power]) for p in polynomials] for power in range(TERMS)]
    for row in rows:
        print(f"{row},")
    print([float(p[0] - mpf(high)) for p, high in zip(polynomials, rows[0])])
