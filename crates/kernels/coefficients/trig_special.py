"""Minimax polynomials of the trigonometric and special functions.

Run: `python trig_special.py [NAME...]`. Prints each polynomial as a Rust constant (lowest power first) together with
the largest relative error of the approximation in units of 2^-53, measured with the rounded coefficients and exact
arithmetic. The files in `src/math/` carry exactly these constants.

The fit is Remez's exchange in 80-digit arithmetic. Errors are relative to the FUNCTION that the polynomial serves: a
weight says how much of an error in the polynomial arrives in the function.
"""

import sys

from mpmath import mp, mpf

mp.dps = 80


def chebyshev_nodes(low, high, count):
    """Extrema of the Chebyshev polynomial of degree `count - 1`, mapped to [low, high]."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def value(coefficients, x):
    """The polynomial at x."""
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def remez(function, weight, low, high, degree, rounds=12):
    """The polynomial whose weighted error is smallest on [low, high], and that error."""
    count = degree + 2
    low, high = mpf(low), mpf(high)
    # Inner points only: weights may vanish, and functions may be 0/0, at the ends.
    margin = (high - low) * mpf(10) ** -9
    points = chebyshev_nodes(low + margin, high - margin, count)
    fine = chebyshev_nodes(low + margin, high - margin, 24 * count)
    exact = [(x, function(x), weight(x)) for x in fine]
    middle, half = (low + high) / 2, (high - low) / 2
    coefficients = None
    for _ in range(rounds):
        # Solve in the scaled variable, where the powers stay comparable.
        rows = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i, x in enumerate(points):
            s = (x - middle) / half
            for j in range(degree + 1):
                rows[i, j] = s**j
            rows[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = mp.lu_solve(rows, right)
        scaled = [solution[j] for j in range(degree + 1)]
        errors = [(f - value(scaled, (x - middle) / half)) * w for x, f, w in exact]
        # One extremum per run of equal sign.
        runs, best = [], 0
        for i in range(1, len(fine)):
            if (errors[i] > 0) != (errors[i - 1] > 0):
                runs.append(best)
                best = i
            elif abs(errors[i]) > abs(errors[best]):
                best = i
        runs.append(best)
        while len(runs) > count:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        coefficients = scaled
        if len(runs) < count:
            break
        spread = [abs(errors[i]) for i in runs]
        points = [fine[i] for i in runs]
        if max(spread) < min(spread) * mpf("1.02"):
            break
    return expand(coefficients, middle, half)


def expand(scaled, middle, half):
    """Coefficients in x of a polynomial in (x - middle) / half."""
    result = [mpf(0)] * len(scaled)
    power = [mpf(1)]
    for c in scaled:
        for i, p in enumerate(power):
            result[i] += c * p
        power = [mpf(0)] + [p / half for p in power]
        for i in range(len(power) - 1):
            power[i] -= power[i + 1] * middle
    return result


def split(x):
    """The nearest double and the nearest double of what it misses."""
    high = float(x)
    return high, float(x - mpf(high))


def fit(name, function, weight, low, high, degree, pairs=0):
    """Fits, rounds, measures and prints one constant; the first `pairs` coefficients also get a low word."""
    coefficients = remez(function, weight, low, high, degree)
    rounded = [float(c) for c in coefficients]
    lows = [split(c)[1] for c in coefficients[:pairs]]
    served = [mpf(r) + (mpf(lows[i]) if i < pairs else 0) for i, r in enumerate(rounded)]
    low, high = mpf(low), mpf(high)
    margin = (high - low) * mpf(10) ** -9
    worst = max(
        abs((function(x) - value(served, x)) * weight(x)) for x in chebyshev_nodes(low + margin, high - margin, 400)
    )
    print(f"// {name}: {mp.nstr(worst * 2**53, 3)} * 2^-53")
    print(f"const {name}: [f64; {len(rounded)}] = [")
    for r in rounded:
        print(f"    {r!r},")
    print("];")
    for i, l in enumerate(lows):
        print(f"const {name}_LOW_{i}: f64 = {l!r};")
    sys.stdout.flush()


def pair(name, x):
    """Prints a constant as a double-word."""
    high, low = split(x)
    print(f"const {name}: (f64, f64) = ({high!r}, {low!r});")


def sin_cos():
    # sin x = x + x^3 S(x^2), cos x = 1 - x^2/2 + x^4 C(x^2) for |x| <= pi/4, a little more for the rounding
    # of the multiple.
    edge = (mp.pi / 4 * mpf("1.0001")) ** 2

    def s(z):
        x = mp.sqrt(z)
        return (mp.sin(x) / x - 1) / z

    def c(z):
        return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2

    def t(z):
        x = mp.sqrt(z)
        return (mp.tan(x) / x - 1) / z

    fit("SIN", s, lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), 0, edge, 5)
    fit("COS", c, lambda z: z**2 / mp.cos(mp.sqrt(z)), 0, edge, 5)
    fit("TAN", t, lambda z: z * mp.sqrt(z) / mp.tan(mp.sqrt(z)), 0, edge, 14)
    rest = mp.pi / 2
    for i in range(3):
        part = float(rest)
        print(f"const HALF_PI_{i}: f64 = {part!r};")
        rest -= mpf(part)
    print(f"const TWO_OVER_PI: f64 = {float(2 / mp.pi)!r};")
    pair("PI", mp.pi)


def atan():
    # atan x = x + x^3 A(x^2) for |x| <= tan(pi/8).
    edge = mp.tan(mp.pi / 8) ** 2 * mpf("1.0001")

    def a(z):
        x = mp.sqrt(z)
        return (mp.atan(x) / x - 1) / z

    fit("ATAN", a, lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), 0, edge, 11)
    fit("ATAN_NEAR", a, lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), 0, mpf("0.1263") ** 2, 5)
    centres = [place_of_atan(place) for place in range(16)]
    print("const CENTRES:", [repr(c) for c in centres])
    print("const ANGLES:", [repr(float(mp.atan(c))) for c in centres])


def place_of_atan(place):
    """A number near the middle, by the angle, of those numbers x whose 1.98 x + 1 is in a quarter between two powers of
    two (the last two bits of an exponent: those of 2, 4, 8 and 1), whose angle has hardly a low word; 0 in the first."""
    size = 2.0 ** ((place // 4 + 1) % 4)
    low, high = ((size * (1 + (place % 4 + end) / 4) - 1) / 1.98 for end in (0, 1))
    if low == 0:
        return 0.0
    middle = mp.tan((mp.atan(low) + (mp.pi / 2 if place == 11 else mp.atan(high))) / 2)
    near = [float(middle) * (1 + i * 2.0**-30) for i in range(4096)]
    return min(near, key=lambda c: abs(split(mp.atan(mpf(c)))[1] / c))


def asin():
    # asin x = x + x^3 R(x^2) for |x| <= 1/2.
    def r(z):
        x = mp.sqrt(z)
        return (mp.asin(x) / x - 1) / z

    fit("ASIN", r, lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)), 0, mpf(1) / 4, 11)


def over_sum(name, ratio, centre, divisor, top, degree):
    """(divisor + s) ratio(s) for s in [0, top] as a polynomial in (s - centre) / (s + centre)."""

    def f(q):
        s = centre * (1 + q) / (1 - q)
        return (divisor + s) * ratio(s)

    fit(name, f, lambda q: 1 / f(q), -1, (mpf(top) - centre) / (mpf(top) + centre), degree, pairs=1)


def normal_tail():
    over_sum("MILLS", lambda s: mp.exp(s * s / 2) * mp.erfc(s / mp.sqrt(2)) / 2, mpf(11) / 2, mpf(19) / 16, 39.5, 23)
    over_sum("COMPLEMENT", lambda s: mp.exp(s * s) * mp.erfc(s), mpf(17) / 4, mpf(7) / 8, 27.3, 22)


def erfinv_of_logarithm(w):
    """erfinv(x) / x for w = -log(1 - x^2)."""
    # x close to 1: solve erfc(y) = 1 - x with Newton from an asymptotic start.
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    one_minus_square = mp.exp(-w)
    x = mp.sqrt(1 - one_minus_square)
    complement = one_minus_square / (1 + x)
    y = mp.sqrt(w) * mpf("0.85") if w > 1 else x * mp.sqrt(mp.pi) / 2
    for _ in range(60):
        if complement < mpf("0.1"):
            # Newton on the logarithm converges from anywhere in the tail.
            e = mp.erfc(y)
            step = (mp.log(e) - mp.log(complement)) * e / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        else:
            step = (mp.erfc(y) - complement) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step
        if abs(step) < abs(y) * mpf(10) ** -75:
            break
    return y / x


def erfinv():
    # erfinv(x) / x as a polynomial in w = -log(1 - x^2) below W, in sqrt(w) above.
    def centre(s):
        return erfinv_of_logarithm(s + 3)

    def tail(at):
        return lambda s: erfinv_of_logarithm((s + at) ** 2)

    fit("ERFINV_CENTRE", centre, lambda s: 1 / centre(s), -3, 3, 23, pairs=2)
    near, far = mpf("3.25"), mpf(5)
    fit("ERFINV_NEAR", tail(near), lambda s: 1 / tail(near)(s), mp.sqrt(6) - near - mpf("0.001"), mpf("0.8"), 19, pairs=2)
    fit("ERFINV_FAR", tail(far), lambda s: 1 / tail(far)(s), mpf("-1"), mpf("1.02"), 19, pairs=2)


def lgamma():
    # lgamma(t) = (t - 1) (t - 2) G(t - 3/2) for t in [1, 2].
    def g(v):
        t = v + mpf(3) / 2
        return mp.loggamma(t) / ((t - 1) * (t - 2))

    fit("LGAMMA", g, lambda v: 1 / g(v), -0.5, 0.5, 22, pairs=3)
    # lgamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + T(1/x^2) / x for x >= 3.

    def t(z):
        x = 1 / mp.sqrt(z)
        return (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x

    fit("STIRLING", t, lambda z: mp.sqrt(z) / mp.loggamma(1 / mp.sqrt(z)), 0, mpf(1) / 9, 11)
    pair("STIRLING_CONSTANT", (mp.log(2 * mp.pi) - 1) / 2)


def digamma():
    # digamma(t) = (t - root) D(t - 3/2) for t in [1, 2].
    root = mp.findroot(mp.digamma, mpf("1.4616321449683623"))

    def d(v):
        x = v + mpf(3) / 2
        if abs(x - root) < mpf(10) ** -30:
            return mp.psi(1, root)
        return mp.digamma(x) / (x - root)

    fit("DIGAMMA", d, lambda v: 1 / d(v), -0.5, 0.5, 21, pairs=3)
    pair("ROOT", root)
    # digamma(x) = log x - 1/(2x) - T(1/x^2) / x^2 for x >= 2.

    def t(z):
        x = 1 / mp.sqrt(z)
        return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x

    fit("DIGAMMA_SERIES", t, lambda z: z / mp.digamma(1 / mp.sqrt(z)), 0, mpf(1) / 4, 17)


def i0():
    # I0(x) = 1 + z P(z), z = x^2 / 4 below the limit; exp(x) / sqrt(x) Q(1/x) above.
    def p(z):
        return (mp.besseli(0, 2 * mp.sqrt(z)) - 1) / z

    fit("I0", p, lambda z: z / mp.besseli(0, 2 * mp.sqrt(z)), 0, 36, 21, pairs=11)

    def q(v):
        x = 1 / v
        return mp.besseli(0, x) * mp.exp(-x) * mp.sqrt(x)

    fit("I0_TAIL", q, lambda v: 1 / q(v), mpf(1) / 720, mpf(1) / 12, 17, pairs=3)


def trigamma():
    # trigamma(t) = D(t - 3/2) for t in [1, 2].
    def d(v):
        return mp.psi(1, v + mpf(3) / 2)

    fit("TRIGAMMA", d, lambda v: 1 / d(v), -0.5, 0.5, 24, pairs=5)

    # trigamma(x) = 1/x + 1/(2x^2) + T(1/x^2) / x^3 for x >= 2.
    def t(z):
        x = 1 / mp.sqrt(z)
        return (mp.psi(1, x) - 1 / x - 1 / (2 * x * x)) * x**3

    fit("TRIGAMMA_SERIES", t, lambda z: mp.sqrt(z) ** 3 / mp.psi(1, 1 / mp.sqrt(z)), 0, mpf(1) / 4, 18)


def i1():
    # I1(x) = x/2 (1 + z P(z)), z = x^2 / 4 below the limit; exp(x) / sqrt(x) Q(1/x) above.
    def p(z):
        return (mp.besseli(1, 2 * mp.sqrt(z)) / mp.sqrt(z) - 1) / z

    fit("I1", p, lambda z: z * mp.sqrt(z) / mp.besseli(1, 2 * mp.sqrt(z)), 0, 36, 21, pairs=11)

    def q(v):
        x = 1 / v
        return mp.besseli(1, x) * mp.exp(-x) * mp.sqrt(x)

    fit("I1_TAIL", q, lambda v: 1 / q(v), mpf(1) / 720, mpf(1) / 12, 17, pairs=3)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["sin_cos", "atan", "asin", "normal_tail", "erfinv", "lgamma", "digamma", "i0", "trigamma", "i1"]:
        globals()[name]()
