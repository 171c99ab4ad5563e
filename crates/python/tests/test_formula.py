"""Formulas in strings: what they may say is a list, and all else is refused with its place, at once."""

import re
import subprocess
import sys
import time

import numpy as np
import pytest
import zerostride as zs

A = np.array([0.5, -1.5, 2.25, 3.0])
B = np.array([[1.0], [2.0]])
I = np.array([3, 4, 5, 6])  # noqa: E741
M = np.array([True, False, True, True])


@pytest.mark.parametrize(
    "formula",
    [
        "2*a + b", "a**2", "a**-1", "a**0.5", "2**i", "i % 2", "i // 2", "i << 1", "i >> 1", "i & 1", "i | 1", "i ^ 1", "~i", "-a", "+a",
        "(a > 1) & m", "(a > 1) | ~m", "m ^ True", "a == 0.5", "a != b", "a <= b", "where(a > 0, a, -a)", "where(m, i, 0)", "sin(a)",
        "cos(a)", "tan(a)", "arcsin(a/4)", "arccos(a/4)", "arctan(a)", "arctan2(a, b)", "sinh(a)", "cosh(a)", "tanh(a)", "arcsinh(a)",
        "arccosh(a + 3)", "arctanh(a/4)", "log(a + 2)", "log2(a + 2)", "log10(a + 2)", "log1p(a + 2)", "exp(a)", "expm1(a)", "sqrt(a + 2)",
        "abs(a)", "conj(a)", "real(a + 1j)", "imag(a + 1j)", "complex(a, b)", "fmod(a, b)", "floor(a)", "ceil(a)", "trunc(a)", "sign(a)",
        "round(a)", "hypot(a, b)", "copysign(a, b)", "nextafter(a, b)", "maximum(a, b)", "minimum(a, b)", "isnan(a)", "isfinite(a)",
        "isinf(a)", "signbit(a)", "ones_like(a)", "copy(a)", "sum(a)", "sum(a, axis=0)", "sum(b, 1)", "prod(a)", "prod(b, axis=1)", "max(a)",
        "max(b, axis=0)", "min(b, 1)", "min(a)", "(a + 1j).real", "(a * 2j).imag", "2.5j * a", "a * 1e3", "1e-3 + a", "m & True", "((((a))))",
        "0x10 + i", "1_000 + i", "a*(-1)",
    ],
)  # fmt: skip
def test_the_strings_that_numexpr_takes(formula):
    numexpr = pytest.importorskip("numexpr", reason="numexpr is not installed")
    names = {"a": A, "b": B, "i": I, "m": M}
    used = {name: value for name, value in names.items() if name in formula}
    try:
        wanted = numexpr.evaluate(formula, used)
    except NotImplementedError:  # It has not every operation for every pair of dtypes.
        wanted = numexpr.evaluate(formula, {name: value.astype(float) for name, value in used.items()})
    np.testing.assert_allclose(np.asarray(zs.evaluate(formula, **used), wanted.dtype), wanted, rtol=1e-12)


REFUSED = [
    ("9**9**9", "more than 64 bits"), ("1 << 10**9", "more than 64 bits"), ("2**63", "more than 64 bits"), ("9" * 30, "more than 64 bits"),
    ("-(2**62)*4", "more than 64 bits"), ("x * 10**30", "more than 64 bits"), ("1/0", "zero"), ("1%0", "zero"), ("9.0**9.0**9.0", "out of range|too large"),
    ("1 << -1", "negative shift"), ("'a'*10**9", "no operand"), ("(1, 2)*10**9", "no operand"), ("[1]*10**9", "no operand"), ("x + 'a'", "no operand"),
    ("x + None", "no operand"), ("x.shape*10**9", "no operand"), ("'%9999999999d' % 1", "no operand"), ("f'{x}'", "no meaning"), ("b'a'", "bytes"),
    ("set_num_threads(1)", "set_num_threads"), ("get_num_threads()", "get_num_threads"), ("explain(x)", "explain"), ("rebuild(x)", "rebuild"),
    ("open('x.npy')", "open"), ("evaluate('x')", "evaluate"), ("zeros(10**12)", "zeros"), ("full((10**12,), 1)", "full"), ("arange(10**12)", "arange"),
    ("rand(3)", "rand"), ("randn(3)", "randn"), ("tensor(x)", "tensor"), ("asarray(x)", "asarray"), ("from_dlpack(x)", "from_dlpack"), ("eye(10**6)", "eye"),
    ("__import__('os')", "__import__"), ("eval('1')", "eval"), ("print(x)", "print"), ("getattr(x, 'T')", "getattr"), ("x.__class__", "__class__"),
    ("x.numpy()", "numpy"), ("x.tolist()", "tolist"), ("x.item()", "item"), ("x.data_ptr()", "data_ptr"), ("x._elements('a')", "_elements"),
    ("x.add_(1)", "add_"), ("x.fill_(1)", "fill_"), ("'abc'.format(x)", "format"), ("'abc'.split()", "of arrays"), ("(5).real", "of arrays"),
    ("'abc'[0]", "no items"), ("5[0]", "no items"), ("x.T()", "T"), ("x(1)", "no function"), ("pi()", "no function"), ("sin", "call it"),
    ("sin.x", "no attribute"), ("(x := 1)", "x := 1"), ("lambda: x", "`lambda: x`"), ("[y for y in x]", "y for y in x"), ("{1: x}", "1: x"), ("{x}", "`{x}`"),
    ("x if x else 0", r"write where\(x, x, 0\)"), ("x and x", "write & and"), ("not x", "`not x`"), ("x in x", "`x in x`"), ("x is x", "`x is x`"), ("0 < x < 1", "chain"),
    ("y + 1", "`y` has no value"), ("softmaks(x, 0)", "did you mean `softmax`"), ("x.softmaks(0)", "did you mean `softmax`"), ("x.shap", "did you mean `shape`"), ("ſin2(x)", "no function"), ("é + x", "`é` has no value"), ("await x", "await|outside"), ("yield", "invalid syntax"),
    ("x = 1", "invalid syntax"), ("x; x", "invalid syntax"), ("import os", "invalid syntax"), ("x +", "invalid syntax"), ("", "invalid syntax"),
    ("sum(*x)", "Starred|no meaning"), ("sum(**x)", "no meaning"), ("x[*x]", "no meaning|invalid"), ("x @", "invalid syntax"), ("\0", "null"),
    ("-" * 60_000 + "x", "too deeply|too complex"), ("(" * 5_000 + "x" + ")" * 5_000, "too many nested|too deeply"),
    ("x" + "+x" * 45_000, "deep"), ("x" * 10_000_000, "at most 100,000 characters"), ("x" + "+1" * 5_000_000, "at most 100,000 characters"),
]  # fmt: skip


@pytest.mark.parametrize("formula, text", REFUSED, ids=[formula[:20] for formula, _ in REFUSED])
def test_all_else_is_refused_at_once(formula, text):
    started, threads = time.monotonic(), zs.get_num_threads()
    with pytest.raises((SyntaxError, ValueError, zs.TraceError, RecursionError, RuntimeError), match=text) as caught:
        zs.evaluate(formula, x=np.ones(2))
    assert time.monotonic() - started < 20
    assert zs.get_num_threads() == threads
    if isinstance(caught.value, SyntaxError) and "deep" not in text:
        assert caught.value.filename == "<expression>"


@pytest.mark.parametrize(
    "formula, place", [("x + y", 5), ("é + sin", 5), ("(x +\n  zz)", 3), ("x * 'a'", 1), ("x + 9**99", 5), ("x.nope()", 1)]
)
def test_an_error_points_at_its_place(formula, place):
    with pytest.raises(SyntaxError) as caught:
        zs.evaluate(formula, x=np.ones(2))
    assert (caught.value.offset, caught.value.text) == (place, formula.splitlines()[caught.value.lineno - 1])


def test_parts_of_real_numbers_are_themselves_and_zeros():
    for x in (np.arange(3.0), np.arange(3.0) + 2j):
        assert zs.evaluate("x.real", x=x).tolist() == x.real.tolist() and zs.evaluate("x.imag", x=x).tolist() == x.imag.tolist()


def test_an_argument_that_is_no_array_is_told_by_its_name():
    for formula, value, text in [
        ("price * 2", "x.npy", "`price`, which is a str: of an array in a file pass zerostride.open('x.npy')"),
        ("-price", [1, 2], "`price`, which is a list: pass an array or a number"),
        ("price.T", None, "`price`, which is a NoneType"),
        ("price[0]", "x.npy", "zerostride.open('x.npy')"),
    ]:
        with pytest.raises(TypeError, match=re.escape(text)):
            zs.evaluate(formula, price=value)
    assert zs.evaluate("div(x, 2, rounding_mode=mode)", x=np.array([3.0]), mode="floor").tolist() == [1]


def test_a_target_of_another_shape_is_told_with_both_shapes(tmp_path):
    for out in (np.ones(2), np.ones((3, 2)), [np.ones(2)]):
        run = (lambda x: [x * 2]) if isinstance(out, list) else "x * 2"
        shape = re.escape(str(list(np.shape(out[0] if isinstance(out, list) else out))))
        for options in ({}, {"max_memory": "1 MiB"}):
            with pytest.raises(zs.BroadcastError, match=f"output with shape {shape} doesn't match the broadcast shape \\[3\\]"):
                zs.evaluate(run, x=np.ones(3), out=out, **options)
    assert zs.evaluate("x * 2", x=np.ones(3), out=np.ones((2, 3))).tolist() == [[2] * 3] * 2


def test_numbers_are_computed_as_python_does():
    for formula in ["2**62", "-(2**63) + 0", "7 // 2", "7 % -3", "1 << 62", "1e308 * 10", "3 & 1 | 4", "(2 + 3j) * 1j", "-2**2", "1 == 1.0", "~5"]:
        if formula != "-(2**63) + 0":
            found = zs.evaluate(formula)
            assert np.asarray(found) == eval(formula), formula
    assert zs.evaluate("-9223372036854775807 - 1") == -(2**63)
    x = np.ones((2, 3))
    assert zs.evaluate("x.sum() / (x.shape[0] * x.shape[1]) + x.ndim", x=x) == 3
    np.testing.assert_array_equal(zs.evaluate("x[:, None, 1:].T", x=x), np.ones((2, 1, 2)))
    np.testing.assert_array_equal(zs.evaluate("x.sum(d, keepdim=k)", x=x, d=(0, 1), k=True), [[6]])


def test_a_long_sum_is_a_formula():
    found = zs.evaluate("x" + "+x" * 400, x=np.ones(3))
    assert found.tolist() == [401] * 3


def test_the_result_is_an_array_of_its_own():
    x = np.ones(2)
    y = zs.evaluate("x", x=x)
    y[0] = 5
    assert x.tolist() == [1, 1]
    assert isinstance(zs.evaluate("2 * 3"), np.ndarray)


def test_names_of_arrays_come_before_functions():
    x = np.ones(2)
    np.testing.assert_array_equal(zs.evaluate("sin + e * pi", sin=x, e=x, pi=2 * x), 3 * x)
    with pytest.raises(SyntaxError, match="`sin` is no function"):
        zs.evaluate("sin(x)", sin=x, x=x)


SMALL_STACK = """
import threading, zerostride as zs
threading.stack_size(512 * 1024)
caught = []
def run():
    deep = "-" * 90_000 + "x", "x" + "+x" * 45_000, "(" * 190 + "x" + ")" * 190, "x" + "[0:1]" * 10_000, "x**" * 30_000 + "x"
    for formula in (*deep, "x**-" * 20_000 + "x", "not " * 20_000 + "x", "x if x else " * 8_000 + "x"):
        try:
            zs.evaluate(formula, x=zs.ones(2))
        except (SyntaxError, RecursionError, RuntimeError, ValueError, IndexError) as error:
            caught.append(type(error).__name__)
thread = threading.Thread(target=run)
thread.start()
thread.join()
print(len(caught))
"""


def test_nesting_is_refused_on_a_small_stack_too():
    done = subprocess.run([sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) == 8


def test_an_error_tells_where_in_the_formula_it_is():
    x, m = zs.zeros(3, 4), zs.zeros(3)
    with pytest.raises(zs.BroadcastError) as caught:
        zs.evaluate("2 * (x - m)", x=x, m=m)
    assert str(caught.value) == "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1"
    assert caught.value.__notes__[-1] == "in the formula\n    2 * (x - m)\n         ^^^^^\nwhere x is (3, 4), m is (3,)"
    with pytest.raises(IndexError) as caught:
        zs.evaluate("(\n x\n .sum(5) + 1\n)", x=x)
    assert caught.value.__notes__[-1] == "in the formula\n     x\n     ^\nwhere x is (3, 4)"
    with pytest.raises(zs.BroadcastError) as caught:
        zs.evaluate("+".join(["x"] * 99) + "+ (x - m)", x=x, m=m)
    _, line, marks, _ = caught.value.__notes__[-1].splitlines()
    assert len(line) <= 104 and line[marks.index("^") : len(marks)] == "x - m"
    # What is no formula points at itself already.
    with pytest.raises(SyntaxError) as caught:
        zs.evaluate("x + 'a'", x=x)
    assert not hasattr(caught.value, "__notes__")
