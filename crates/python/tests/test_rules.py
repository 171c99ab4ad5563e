"""Fused functions of NumPy arrays compute what they compute when NumPy runs them: methods and operators, dtype by dtype. Those of
torch's and of zerostride's arrays follow PyTorch."""

import itertools
import pickle
import warnings

import numpy as np
import pytest

import zerostride as zs

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
NUMBERS = [
    True, 0, 1, 2, -1, 7, 300, -129, 2**40, 2**63, 2**70, 0.5, 2.0, -1.5, 1e10, 1j, np.True_, np.int8(3), np.uint8(3),
    np.int64(3), np.uint64(3), np.float16(0.1), np.float32(0.1), np.float64(0.1), np.complex64(1j), np.complex128(1j),
]  # fmt: skip
EXPRESSIONS = [
    # Reductions.
    "a.sum()", "a.sum(0)", "a.sum(axis=(0, 1), keepdims=True)", "a.sum(axis=())", "a.sum(dtype=np.float32)", "a.sum(0, np.int16)",
    "a.sum(where=True)", "a.prod()", "a.prod(axis=1)", "a.mean()", "a.mean(0)", "a.mean(axis=-1, keepdims=True)",
    "a.mean(dtype=np.float64)", "a.std()", "a.std(0)", "a.std(axis=1, ddof=1)", "a.std(0, None, None, 1)", "a.var()",
    "a.var(axis=0, keepdims=True)", "a.var(ddof=1)", "a.all()", "a.all(axis=0)", "a.any()", "a.any(1, keepdims=True)",
    "a.trace()", "np.std(a, 0)", "np.mean(a)", "(a == 1).sum()", "(a != 1).mean()",
    # Of ordered numbers.
    "a.max()", "a.max(0)", "a.max(axis=1, keepdims=True)", "a.min()", "a.min(1)", "a.argmax()", "a.argmax(0)",
    "a.argmin(axis=1)", "a.argmin(axis=1, keepdims=True)", "np.ptp(a)", "np.ptp(a, axis=0)", "a.clip(1, 3)", "a.clip(min=1)",
    "a.clip(max=2)", "a.clip(0.5, 2.5)", "a.clip(None, b)", "a.clip(-1, 300)", "a.clip(-(2**40), 2**40)", "a.clip(300, 400)", "np.clip(a, 1, 2)",
    "np.where(a > 1, a, 0)", "np.maximum(a, 1.5)", "(a > 1).sum()",
    # Element by element.
    "a.round()", "a.round(1)", "a.round(decimals=1)", "a.round(-1)", "np.round(a * 10, -1)", "-a", "+a", "~a", "abs(a)", "round(a)",
    "a.conj()", "a.conjugate()", "a.real", "a.imag", "a.astype(np.float32)", "a.astype('i4')", "a.astype(bool)",
    "a.astype(np.float64, copy=False)", "np.sqrt(a)", "np.exp(a)", "np.abs(a)", "np.negative(a)", "np.sign(a)", "np.square(a)",
    "divmod(a, 2)[0]", "divmod(a, b)[1]", "divmod(5, a)[1]", "np.divmod(a, 2)[1]",
    # Shapes.
    "a.reshape(-1)", "a.reshape(3, 2)", "a.reshape((3, 2))", "a.reshape(-1, order='C')", "a.transpose()", "a.transpose(1, 0)",
    "a.transpose((1, 0))", "a.transpose(None)", "a[None].transpose(2, 0, 1)", "a.T", "a.mT", "a.ravel()", "a.flatten()",
    "a.squeeze()", "a[:1].squeeze(0)", "a[:1].squeeze(axis=0)", "a.swapaxes(0, 1)", "a.copy()", "a.diagonal()", "a.diagonal(1)",
    "a.diagonal(offset=-1, axis1=1, axis2=0)",
    # Functions whose dtypes are NumPy's.
    "np.angle(a)", "np.sinc(a)", "a.astype(np.result_type(a, np.float32))", "np.full_like(a, 2) * 1.5", "np.isclose(a, b)",
    # Products.
    "a @ b.T", "a @ b[0]", "a.dot(b.T)", "a.dot(b[0])", "a.dot(2)", "a @ 2",
    # Formulas.
    "a[0, 0] + a", "a[0, 0] * 2.5", "a.sum() / 2", "(a - a.mean(0)) / a.std(0)", "a / 2 + b // 3", "np.zeros_like(a) / 2",
    "np.ones_like(a).std() + a", "(a * 2.5).var(1)", "a[:, None] - b", "a.max(0) - a.min(0)",
    # Beside lists and arrays from outside.
    "a + [1, 2, 3]", "[1, 2, 3] * a", "[[1.5]] - a", "a == [1, 2, 3]", "C + a", "a * C", "a ** C", "C > a", "C[0] @ a.T",
    "C.sum() - a",
    # What NumPy refuses.
    "a.sum(dim=0)", "a.std(unbiased=False)", "a.max(dim=0)", "a.sum(5)", "a + 'x'", "a.ptp()", "a @ b", "a.unknown()", "a.reshape(4)",
    "a[:, :2] + b",
]  # fmt: skip
IN_PLACE = ["a += 1", "a -= b", "a *= 2.5", "a /= 2", "a //= 2", "a %= b", "a **= 2", "a &= b", "a <<= 1", "a += b[None]", "a *= 1j", "a @= np.eye(3, dtype=a.dtype)"]
# What has no order in PyTorch.
ORDERED = ("<", ">", "max", "min", "clip", "ptp", "maximum")
C = np.array([[1, 2, 3]], "i2")


def operands(*dtypes):
    """Arrays of small numbers: zeros and negative ones among them where the dtype has those."""
    generator = np.random.default_rng(0)
    made = []
    for dtype in map(np.dtype, dtypes):
        values = generator.integers(-4 if dtype.kind in "ifc" else 0, 6, (2, 3)) + 0.25 * (dtype.kind in "fc")
        made.append((values * (1 - 2j if dtype.kind == "c" else 1)).astype(dtype))
    return made


def outcome(function, *arguments):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except Exception as error:
            return error


def check(text, plain, *arguments):
    """That a fused function does what it does when NumPy runs it."""
    wanted, found = outcome(plain, *(np.copy(one) if isinstance(one, np.ndarray) else one for one in arguments)), outcome(zs.fuse(plain), *arguments)
    seen = [getattr(one, "dtype", one) for one in arguments]
    context = f"{text} of {seen}: {found!r} instead of {wanted!r}"
    if isinstance(wanted, np.ndarray | np.generic) and any(np.iscomplexobj(one) for one in arguments) and any(word in text for word in ORDERED):
        if isinstance(found, NotImplementedError | TypeError):
            return
    if isinstance(wanted, Exception):
        refused = next(kind for kind in type(wanted).__mro__ if kind.__module__ == "builtins")
        if isinstance(found, zs.BroadcastError) or (refused is ValueError and isinstance(found, IndexError | RuntimeError)):
            return
        # Bools that NumPy cannot round or subtract are not implemented here.
        refused = (refused, NotImplementedError) if refused is TypeError else refused
        assert isinstance(found, refused), context
        return
    assert not isinstance(found, Exception), context
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), context
    digits = {"f2": 2e-3, "f4": 2e-6, "c8": 4e-6}.get(wanted.dtype.str[1:], 1e-14)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, wanted, rtol=digits, atol=digits, err_msg=context)


def made(expression, names="a, b"):
    return eval(f"lambda {names}: {expression}", {"np": np, "C": C})


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_of_two_arrays_are_numpys(operator):
    for dtypes in itertools.product(DTYPES, DTYPES):
        a, b = operands(*dtypes)
        # Whether an exponent is negative is known when it is too late to raise.
        b = abs(b) if operator == "**" and b.dtype.kind == "i" else b
        check(f"a {operator} b", made(f"a {operator} b"), a, b)


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_of_arrays_and_numbers_are_numpys(operator):
    for dtype, number in itertools.product(DTYPES, NUMBERS):
        (a,) = operands(dtype)
        if dtype == "?" and type(number) is int and number > 2**62:
            continue  # NumPy takes them for C's longs.
        if operator == "**" and dtype[0] == "c" and abs(complex(number)) > 100:
            continue  # Their powers lose digits, or are infinities of some direction.
        check(f"a {operator} b", made(f"a {operator} b"), a, number)
        check(f"b {operator} a", made(f"b {operator} a"), abs(a) if operator == "**" and dtype[0] == "i" else a, number)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_methods_and_formulas_are_numpys(expression):
    for dtype in DTYPES:
        check(expression, made(expression), *operands(dtype, dtype))


@pytest.mark.parametrize("statement", IN_PLACE)
def test_in_place_operators_keep_the_dtype_and_shape_as_numpys(statement):
    space = {"np": np}
    exec(f"def changed(a, b):\n    {statement}\n    return a", space)
    for dtypes in itertools.product(DTYPES, DTYPES):
        check(statement, space["changed"], *operands(*dtypes))


@pytest.mark.parametrize("expression", ["a.cumsum()", "a.cumsum(0)", "a.sort()", "a.argsort()", "a.repeat(2)", "a.nonzero()", "a.take([0, 1])", "a.searchsorted(1)",
    "a.sum(out=out)", "a.std(0, out=out)", "a.sum(where=a > 1)", "a.max(initial=3)", "np.add(a, 1, out=out)", "a.partition(1)", "a.compress([True])"])  # fmt: skip
def test_what_needs_elements_or_writes_says_so(expression):
    with pytest.raises(zs.TraceError, match="traced function"):
        zs.fuse(eval(f"lambda a: {expression}", {"np": np, "out": np.zeros(3)}))(np.ones((2, 3)))


def test_the_operands_decide_about_the_rules():
    a = np.array([1, 2, 4], np.int32)
    f = zs.fuse(lambda a: a / 2)
    for _ in range(2):
        # The same function and signature, traced for both.
        assert f(a).dtype == np.float64
        assert f(zs.asarray(a)).dtype == zs.float32
    assert zs.fuse(lambda a, b: a / b)(a, zs.asarray(a)).dtype == zs.float32
    assert zs.fuse(lambda a, b: a / b)(a, b=2).dtype == np.float64
    assert zs.fuse(lambda a: a.std())(np.ones(3) * a) == pytest.approx(np.std(a))
    assert zs.fuse(lambda a: a.std())(zs.tensor(a * 1.0)).item() == pytest.approx(np.std(a, ddof=1))


def test_torchs_tensors_have_torchs_rules():
    torch = pytest.importorskip("torch")
    a = torch.tensor([1, 2, 4], dtype=torch.int32)
    assert zs.fuse(lambda a: a / 2)(a).dtype == torch.float32
    assert zs.fuse(lambda a, b: a / b)(a, a.numpy()).dtype == torch.float32
    assert zs.fuse(lambda a: a / 2, rules="numpy")(a).dtype == torch.float64
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    zs.fuse(lambda x: x.std(), rules="numpy")(x).backward()
    wanted, x.grad = x.grad, None
    x.std(correction=0).backward()
    torch.testing.assert_close(x.grad, wanted)


def test_rules_are_asked_for():
    a = np.array([1, 2, 4], np.int32)

    @zs.fuse(rules="torch")
    def halves(a):
        return a / 2

    assert halves.rules == "torch"
    assert halves.__name__ == "halves"
    assert halves(a).dtype == np.float32
    assert zs.fuse(lambda a: a / 2, rules="numpy")(zs.asarray(a)).dtype == zs.float64
    assert zs.fuse(lambda a: a).rules is None
    with pytest.raises(ValueError, match='"numpy" or "torch", not "jax"'):
        zs.fuse(lambda a: a, rules="jax")
    with pytest.raises(TypeError, match="not a int"):
        zs.fuse(lambda a: a, rules=1)


def _halves(a):
    return a / 2


def test_rules_are_pickled_with_the_function():
    assert pickle.loads(pickle.dumps(zs.fuse(_halves, rules="torch"))).rules == "torch"


def test_functions_keep_the_rules_of_their_library():
    a = np.array([1.0, 2.0, 4.0])
    for rules in ("numpy", "torch"):
        found = zs.fuse(lambda a: (zs.std(a), np.std(a)), rules=rules)(a)
        np.testing.assert_allclose(found, (np.std(a, ddof=1), np.std(a)))
    # What NumPy's arrays do not have is zerostride's.
    assert zs.fuse(lambda i: i.exp())(np.array([1, 2], np.int32)).dtype == np.float32


def test_a_function_inside_has_the_rules_of_the_one_around_it_or_its_own():
    a = np.array([1, 2, 4], np.int32)
    inner, torchs = zs.fuse(lambda a: a / 2), zs.fuse(lambda a: a / 2, rules="torch")
    found = zs.fuse(lambda a: (inner(a), torchs(a), a / 2))(a)
    assert [one.dtype for one in found] == [np.float64, np.float32, np.float64]
    found = zs.fuse(lambda a: (inner(a), torchs(a), a / 2), rules="torch")(a)
    assert [one.dtype for one in found] == [np.float32] * 3


def test_rules_end_with_the_function():
    def fails(a):
        raise KeyError

    with pytest.raises(KeyError):
        zs.fuse(fails)(np.ones(3))
    assert (zs.tensor([1, 2], dtype=zs.int32) / 2).dtype == zs.float32
    assert zs.fuse(lambda a: a / 2)(zs.tensor([1, 2])).dtype == zs.float32


def test_derivatives_have_the_rules_of_the_function():
    a = np.array([1.0, 2.0, 4.0])
    wanted = (a - a.mean()) / (3 * a.std())
    value, gradient = zs.value_and_grad(lambda a: a.std())(a)
    assert value == pytest.approx(np.std(a))
    np.testing.assert_allclose(gradient, wanted)
    np.testing.assert_allclose(zs.grad(lambda a: a.std())(zs.tensor(a)), wanted * np.sqrt(3 / 2))
    np.testing.assert_allclose(zs.grad(zs.fuse(lambda a: a.std(), rules="torch"))(a), wanted * np.sqrt(3 / 2))
    # Whatever the library of the cotangents.
    value, pullback = zs.vjp(lambda a: a.std(), a)
    for one in (np.float64(1), np.ones(()), zs.ones((), dtype=zs.float64)):
        np.testing.assert_allclose(np.asarray(pullback(np.asarray(one) if isinstance(one, np.float64) else one)[0]), wanted)
    value, tangent = zs.jvp(lambda a: a.std(), (a,), (zs.ones(3, dtype=zs.float64),))
    assert value == pytest.approx(np.std(a))
    np.testing.assert_allclose(np.asarray(tangent), wanted.sum(), atol=1e-12)


def test_evaluate_of_functions_is_fuse_and_of_strings_is_torchs():
    a = np.array([1, 2, 4], np.int32)
    assert zs.evaluate(lambda a: a / 2, a=a).dtype == np.float64
    assert zs.evaluate(zs.fuse(lambda a: a / 2, rules="torch"), a=a).dtype == np.float32
    assert zs.evaluate("a / 2", a=a).dtype == np.float32
    assert zs.evaluate("a.std()", a=a * 1.0) == pytest.approx(np.std(a, ddof=1))


def test_arrays_in_files_have_torchs_rules(tmp_path):
    a = np.array([1, 2, 4], np.int32)
    np.save(tmp_path / "a.npy", a)
    source = zs.open(tmp_path / "a.npy")
    assert zs.evaluate(lambda a: a / 2, a=source).dtype == zs.float32
    assert zs.evaluate(lambda a, b: a / b, a=source, b=a).dtype == zs.float32


def test_dask_arrays_have_the_rules_of_their_chunks():
    da = pytest.importorskip("dask.array")
    a = np.arange(12, dtype=np.int32).reshape(4, 3)
    lazy, f = da.from_array(a, chunks=(2, 3)), zs.fuse(lambda a: ((a / 2).std(0), a // 4 + a.mean(), a.sum(0) * 2.5))
    for found, wanted in zip(f(lazy), f(a), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.compute(), wanted)
    own = lazy.map_blocks(zs.asarray)
    assert zs.fuse(lambda a: a / 2)(own).dtype == zs.float32
    assert zs.fuse(lambda a, b: a / b)(lazy, zs.ones(3)).dtype == np.float32
    assert zs.fuse(lambda a: a / 2, rules="torch")(lazy).dtype == np.float32


def test_numbers_are_weak_and_numpys_scalars_strong_as_arguments():
    a = np.ones(2, "f4")
    f = zs.fuse(lambda a, b: a + b)
    assert f(a, 1.0).dtype == np.float32
    assert f(a, np.float64(1)).dtype == np.float64
    assert f(a, np.ones(())).dtype == np.float64
    assert f(np.ones((), "f8"), a).dtype == np.float64


def test_comparisons_of_signs_and_large_integers_are_exact():
    u = np.array([0, 2**63, 2**64 - 1, 5], "u8")
    i = np.array([-1, -(2**63), 2**63 - 1, 5])
    for operator in ("==", "!=", "<", "<=", ">", ">="):
        check(operator, made(f"a {operator} b"), u, i)
        check(operator, made(f"a {operator} b"), i, u)
        for number in (-1, 2**63, 2**64, 5):
            check(operator, made(f"a {operator} b"), u, number)
            check(operator, made(f"b {operator} a"), i, number)


def test_halves_are_added_to_rounded_numbers():
    a = np.linspace(0, 1, 50, dtype="f2")
    for operator in "+-*/":
        plain = made(f"a {operator} 0.1", "a")
        np.testing.assert_array_equal(zs.fuse(plain)(a), plain(a))


def test_an_argument_that_numpy_does_not_know_names_the_other_rules():
    with pytest.raises(TypeError) as raised:
        zs.fuse(lambda a: a.sum(dim=0))(np.ones((2, 3)))
    assert 'rules="torch"' in raised.value.__notes__[0]


def test_the_line_of_a_broadcast_is_the_programs():
    with zs.audit() as audit:
        zs.fuse(lambda a, b: a + b)(np.ones((3, 1)), np.ones(3))
    assert audit.records[0].file == __file__


def test_columns_of_pandas_divide_as_pandas_does():
    pandas = pytest.importorskip("pandas", minversion="3")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0]})
    assert frame.apply(lambda a: a.std(), engine=zs.fuse)["a"] == pytest.approx(frame["a"].std())
    assert frame.apply(lambda a: a.std(), engine=zs.fuse, raw=True)["a"] == pytest.approx(np.std(frame["a"].to_numpy()))
