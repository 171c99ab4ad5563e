"""Prints the constants of `src/math/power.rs`."""

from mpmath import exp, factorial, log, mpf

from fit import fit, literal, rounded, series

STEP = log(mpf(2)) / 16
REST = series(lambda r: (exp(r) - 1 - r) / r**2, lambda k: 1 / factorial(k + 2))

for bits, degrees, integer_bits in [(24, (1, 2), 12), (53, (5,), 15)]:
    print(f"\n===== {bits} bits")
    print("STEPS", literal(1 / STEP, bits))
    first = rounded(STEP, bits - integer_bits)
    print("STEP", literal(first, bits), literal(STEP - first, bits))
    powers = [mpf(2) ** (mpf(j) / 16) for j in range(16)]
    high = [rounded(power, bits) for power in powers]
    print("POWERS", *(literal(x, bits) for x in high), sep=", ")
    print("POWERS, low", *(literal(rounded(x - h, bits), bits) for x, h in zip(powers, high)), sep=", ")
    half = STEP / 2 * mpf("1.001")
    for degree in degrees:
        p, error = fit(REST, lambda r: r * r, -half, half, degree, bits)
        print(f"REST, error 2^{float(log(error, 2)):.1f}", *(literal(c, bits) for c in p), sep=", ")
