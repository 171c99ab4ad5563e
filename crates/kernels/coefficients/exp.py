"""Prints the constants of `src/math/exp.rs`."""

from mpmath import exp, factorial, log, mpf

from fit import fit, rounded, series, show, split

LN2 = log(mpf(2))
HALF = LN2 / 2 * (1 + mpf(2) ** -8)

for bits, degree, integer_bits in [(24, 4, 8), (53, 9, 11)]:
    print(f"\n===== {bits} bits")
    split("LN2", LN2, bits, 2, integer_bits)
    split("LN2 (double word)", LN2, bits, 2, 0)
    split("LOG2_E", 1 / LN2, bits, 1, 0)
    split("LN10", log(mpf(10)), bits, 2, 0)
    # (e^r - 1 - r - r^2/2) / r^3, the error being that of e^r - 1 relative to r.
    f = series(lambda r: (exp(r) - 1 - r - r * r / 2) / r**3, lambda k: 1 / factorial(k + 3))
    p, error = fit(f, lambda r: r * r, -HALF, HALF, degree, bits)
    show("EXPM1", p, error, bits)

print("\n===== single precision")
# From the third coefficient on in `src/math/exp.rs`. The weight is the fourth power of that of a relative
# error.
p, error = fit(exp, lambda r: exp(-4 * r), -HALF, HALF, 6, 24, exact=[1, 1])
show("SHORT_EXP", p, error, 24)
FIRST = rounded(LN2, 24)
f = series(lambda r: (mpf(2) ** r - 1) / r - FIRST, lambda k: LN2 ** (k + 1) / factorial(k + 1) - (0 if k else FIRST))
p, error = fit(f, lambda r: r * mpf(2) ** -r, mpf(-0.5), mpf(0.5), 5, 24)
show("SHORT_EXP2", p, error, 24)
