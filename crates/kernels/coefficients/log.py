"""Prints the constants of `src/math/log.rs`."""

from mpmath import atanh, log, log1p, mpf, nint, sqrt

from fit import fit, series, show, split

S2 = mpf("0.04") * mpf("1.001")


def atanh_tail(z):
    s = sqrt(z)
    return (atanh(s) / s - 1 - z / 3) / z**2


for bits, degree, integer_bits in [(24, 2, 8), (53, 7, 11)]:
    print(f"\n===== {bits} bits")
    split("ONE_THIRD", mpf(1) / 3, bits, 2, 0)
    split("INV_LN2", 1 / log(mpf(2)), bits, 2, 0)
    split("INV_LN10", 1 / log(mpf(10)), bits, 2, 0)
    split("LOG10_2", log(mpf(2)) / log(mpf(10)), bits, 2, integer_bits)
    # The error is that of atanh(s) relative to itself.
    f = series(atanh_tail, lambda k: mpf(1) / (2 * k + 5))
    p, error = fit(f, lambda z: z * z + mpf(2) ** -40, 0, S2, degree, bits)
    show("ATANH", p, error, bits)

# (log(1 + f) - f + f^2/2) / f^3, the error being relative to log(1 + f).
g = series(lambda f: (log1p(f) - f + f * f / 2) / f**3, lambda k: mpf(-1) ** k / (k + 3))
weight = lambda f: f * f if f == 0 else abs(f**3 / log1p(f))
print("\n===== 24 bits, whole polynomial")
p, error = fit(g, weight, mpf(-1) / 4, mpf(1) / 2, 7, 24)
show("LOG", p, error, 24)

# For `src/math/log_table.rs`: significands from 1 to 2 are told apart by their first four bits after the
# point.
edges = [(1 + mpf(i) / 16, 1 + mpf(i + 1) / 16) for i in range(16)]


def near_reciprocal(low, high):
    """The number of 5 bits after the point, of 6 from 1 1/2 on, that brings the interval nearest to 1; 1 and 1/2 at the ends."""
    if low == 1 or high == 2:
        return 1 / nint(low)
    step = mpf(1) / (32 if low < 1.5 else 64)
    return min((k * step for k in range(16, 48)), key=lambda r: max(abs(low * r - 1), abs(high * r - 1)))


reciprocals = [near_reciprocal(low, high) for low, high in edges]
lowest = min(low * r - 1 for r, (low, high) in zip(reciprocals, edges))
highest = max(high * r - 1 for r, (low, high) in zip(reciprocals, edges))
print(f"\n===== tables: f from {float(lowest)} to {float(highest)}")
show("RECIPROCALS", reciprocals, 0, 53)
for name, base in [("NATURAL", None), ("BINARY", 2), ("DECIMAL", 10)]:
    per_unit = 1 if base is None else 1 / log(mpf(base))
    values = [-log(r) * per_unit for r in reciprocals]
    step = mpf(2) ** -42
    high = [nint(x / step) * step for x in values]
    show(f"{name} high", high, 0, 53)
    show(f"{name} low", [x - h for x, h in zip(values, high)], 0, 53)
curvature = series(lambda f: (log1p(f) - f) / f**2, lambda k: mpf(-1) ** (k + 1) / (k + 2))
for bits, degree in [(24, 3), (53, 9)]:
    p, error = fit(curvature, lambda f: f * f / log1p(f) if f else mpf(0), lowest, highest, degree, bits)
    show("NEAR_1", p, error, bits)
h = series(lambda f: log1p(f) / f, lambda k: mpf(-1) ** k / (k + 1))
p, error = fit(h, lambda f: 1 / abs(h(f)), lowest, highest, 6, 53)
show("SHORT", p, error, 53)
