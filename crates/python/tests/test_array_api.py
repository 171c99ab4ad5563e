"""The array API namespace: every name and parameter of the standard, and the results of its reference implementation.

``array_api_suite.py`` runs the standard's own test suite where that can be had.
"""

import inspect

import numpy as np
import pytest
import zerostride as zs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

xp = zs.zeros(1).__array_namespace__()

# The main namespace of 2025.12, with the parameters that may be given by name.
FUNCTIONS = {
    "arange": "stop step dtype device", "asarray": "dtype device copy", "empty": "shape dtype device",
    "empty_like": "dtype device", "eye": "k dtype device", "from_dlpack": "device copy",
    "full": "shape fill_value dtype device", "full_like": "fill_value dtype device",
    "linspace": "num dtype device endpoint", "meshgrid": "indexing", "ones": "shape dtype device",
    "ones_like": "dtype device", "tril": "k", "triu": "k", "zeros": "shape dtype device", "zeros_like": "dtype device",
    "astype": "copy device", "broadcast_arrays": "", "broadcast_to": "shape", "can_cast": "", "finfo": "", "iinfo": "",
    "isdtype": "", "isin": "invert", "broadcast_shapes": "", "result_type": "", "take": "axis", "take_along_axis": "axis", "matmul": "", "matrix_transpose": "",
    "tensordot": "axes", "vecdot": "axis", "concat": "axis", "expand_dims": "axis", "flip": "axis", "moveaxis": "",
    "permute_dims": "axes", "repeat": "axis", "reshape": "shape copy", "roll": "shift axis", "squeeze": "axis",
    "stack": "axis", "tile": "", "unstack": "axis", "argmax": "axis keepdims", "argmin": "axis keepdims",
    "count_nonzero": "axis keepdims", "nonzero": "", "searchsorted": "side sorter", "where": "", "unique_all": "",
    "unique_counts": "", "unique_inverse": "", "unique_values": "", "argsort": "axis descending stable",
    "sort": "axis descending stable", "cumulative_prod": "axis dtype include_initial",
    "cumulative_sum": "axis dtype include_initial", "max": "axis keepdims", "mean": "axis keepdims",
    "min": "axis keepdims", "prod": "axis dtype keepdims", "std": "axis correction keepdims",
    "sum": "axis dtype keepdims", "var": "axis correction keepdims", "all": "axis keepdims", "any": "axis keepdims",
    "diff": "axis n prepend append", "clip": "min max", "__array_namespace_info__": "",
}  # fmt: skip
ELEMENTWISE = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal
hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
square sqrt subtract tan tanh trunc""".split()
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
DTYPES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128""".split()


@pytest.mark.parametrize("name", [*FUNCTIONS, *ELEMENTWISE, *CONSTANTS, *DTYPES])
def test_every_name_is_there(name):
    assert hasattr(xp, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_has_the_standards_name(name):
    parameters = inspect.signature(getattr(xp, name)).parameters
    assert set(FUNCTIONS[name].split()) <= set(parameters)


def test_versions_and_devices():
    x = zs.zeros(1)
    assert xp.__array_api_version__ == "2025.12"
    assert x.__array_namespace__(api_version="2024.12") is x.__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="2019.12")
    assert x.to_device(x.device) is x
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["integral"] is xp.int64
    assert info.devices() == ("cpu",)
    assert set(info.dtypes()) == set(DTYPES)
    assert info.dtypes(kind=("bool", "real floating")).keys() == {"bool", "float32", "float64"}
    assert xp.isdtype(xp.float32, ("integral", xp.float32))
    assert not xp.can_cast(xp.int64, xp.int32) and xp.can_cast(xp.int8, xp.float32)
    with pytest.raises(ValueError):
        xp.zeros(3, device="gpu")


# Results, beside those of the standard's reference implementation.

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)
INTS = DTYPES[1:9]
FLOATS = ["float32", "float64"]
REAL = INTS + FLOATS
NUMERIC = REAL + ["complex64", "complex128"]
UNARY = {
    "abs": NUMERIC, "ceil": REAL, "floor": REAL, "trunc": REAL, "round": NUMERIC, "sign": NUMERIC, "square": NUMERIC,
    "negative": NUMERIC, "positive": NUMERIC, "isfinite": NUMERIC, "isinf": NUMERIC, "isnan": NUMERIC,
    "signbit": FLOATS, "bitwise_invert": ["bool", *INTS], "logical_not": ["bool"], "real": NUMERIC[-2:],
    "imag": NUMERIC[-2:], "conj": NUMERIC, "reciprocal": FLOATS,
}  # fmt: skip
BINARY = {
    "add": NUMERIC, "subtract": NUMERIC, "multiply": NUMERIC, "equal": DTYPES, "not_equal": DTYPES, "less": REAL,
    "less_equal": REAL, "greater": REAL, "greater_equal": REAL, "maximum": REAL, "minimum": REAL,
    "bitwise_and": ["bool", *INTS], "bitwise_or": ["bool", *INTS], "bitwise_xor": ["bool", *INTS],
    "logical_and": ["bool"], "logical_or": ["bool"], "logical_xor": ["bool"], "divide": FLOATS, "copysign": FLOATS,
    "nextafter": FLOATS,
}  # fmt: skip
REDUCTIONS = {
    "sum": INTS, "prod": INTS, "max": REAL, "min": REAL, "all": DTYPES, "any": DTYPES, "argmax": REAL, "argmin": REAL,
    "count_nonzero": DTYPES,
}  # fmt: skip
ALONG = {
    "sort": REAL, "argsort": REAL, "flip": DTYPES, "cumulative_sum": INTS, "cumulative_prod": INTS, "diff": INTS,
    "unstack": DTYPES, "expand_dims": DTYPES,
}  # fmt: skip
WHOLE = {
    "unique_values": REAL, "unique_counts": REAL, "unique_inverse": REAL, "unique_all": REAL, "nonzero": DTYPES,
    "tril": DTYPES, "triu": DTYPES, "matrix_transpose": DTYPES, "zeros_like": DTYPES, "ones_like": DTYPES,
}  # fmt: skip


@pytest.fixture(scope="module")
def strict():
    return pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")


def finite(dtype):
    """Elements whose results are the same to the bit everywhere."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        return st.integers(0 if kind == "u" else -9, 9)
    whole = st.integers(-40, 40).map(lambda number: number / 4)
    return whole if kind == "f" else st.tuples(whole, whole).map(lambda parts: complex(*parts))


def draw_array(data, dtypes, shapes=SHAPES):
    dtype = data.draw(st.sampled_from(dtypes))
    return data.draw(hnp.arrays(dtype, shapes, elements=finite(dtype)))


def call(namespace, name, *arguments, **keywords):
    """The results as NumPy arrays, or the word that stands for a refusal."""
    convert = lambda x: namespace.asarray(x) if isinstance(x, np.ndarray) else x  # noqa: E731
    try:
        result = getattr(namespace, name)(*map(convert, arguments), **keywords)
    except (ValueError, TypeError, IndexError, RuntimeError, NotImplementedError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"
    return [np.from_dlpack(part) for part in (result if isinstance(result, (tuple, list)) else (result,))]


def compare(strict, name, *arguments, **keywords):
    wanted, found = (call(namespace, name, *arguments, **keywords) for namespace in (strict, xp))
    if isinstance(wanted, str):
        return
    assert not isinstance(found, str), found
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def every(table):
    return pytest.mark.parametrize("name", table)


FEW = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@every(UNARY)
def test_unary_functions(strict, name):
    @FEW
    @given(st.data())
    def check(data):
        with np.errstate(all="ignore"):
            compare(strict, name, draw_array(data, UNARY[name]))

    check()


@every(BINARY)
def test_binary_functions_promote_and_broadcast(strict, name):
    @FEW
    @given(st.data())
    def check(data):
        shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=3, max_side=3))
        with np.errstate(all="ignore"):
            compare(strict, name, *(draw_array(data, BINARY[name], st.just(shape)) for shape in shapes.input_shapes))

    check()


@every(REDUCTIONS)
def test_reductions(strict, name):
    @FEW
    @given(st.data())
    def check(data):
        x = draw_array(data, REDUCTIONS[name])
        axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
        compare(strict, name, x, axis=axis, keepdims=data.draw(st.booleans()))

    check()


@every(["mean", "std", "var", "sum", "prod"])
def test_statistics_of_floats(strict, name):
    @FEW
    @given(st.data())
    def check(data):
        # Products of these neither overflow nor vanish, whatever their order.
        quarters = st.integers(-8, 8).map(lambda number: number / 4)
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
        x = data.draw(hnp.arrays(data.draw(st.sampled_from(FLOATS)), shape, elements=quarters))
        keywords = {"axis": data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))}
        wanted, found = (call(namespace, name, x, **keywords) for namespace in (strict, xp))
        assert found[0].dtype == wanted[0].dtype
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)

    check()


@every(ALONG)
def test_functions_along_an_axis(strict, name):
    @FEW
    @given(st.data())
    def check(data):
        x = draw_array(data, ALONG[name])
        compare(strict, name, x, axis=data.draw(st.integers(-x.ndim, x.ndim - 1)))

    check()


@every(WHOLE)
def test_functions_of_the_whole(strict, name):
    @FEW
    @given(st.data())
    def check(data):
        compare(strict, name, draw_array(data, WHOLE[name]))

    check()


def test_functions_of_several_arguments(strict):
    x = np.arange(12).reshape(3, 4)
    for name, *arguments, keywords in [
        ("concat", [x, x], {"axis": 1}), ("stack", [x, x], {"axis": -1}), ("tile", x, (2, 1, 3), {}),
        ("repeat", x, 2, {"axis": 1}), ("repeat", x, 3, {}), ("repeat", x, np.array([1, 0, 2]), {"axis": 0}),
        ("roll", x, 2, {"axis": 1}), ("roll", x, -5, {}), ("roll", x, (1, 2), {"axis": (0, 1)}),
        ("take", x, np.array([2, 0]), {"axis": 0}), ("take_along_axis", x, np.argsort(-x, 1), {"axis": 1}),
        ("moveaxis", x, 0, 1, {}), ("permute_dims", x, (1, 0), {}), ("reshape", x, (2, -1), {}), ("reshape", x, (4, 3), {"copy": True}),
        ("squeeze", x[None], 0, {}), ("squeeze", x, 0, {}), ("broadcast_to", x[0], {"shape": (2, 4)}),
        ("expand_dims", x, {"axis": (0, -1)}), ("expand_dims", x, {"axis": (1, 1)}), ("permute_dims", x, (-1, 0), {}), ("isin", x, x[0], {}), ("isin", x, x[1], {}),
        ("searchsorted", x[0], 2, {}), ("mean", x / 2, {"axis": 0}), ("tensordot", x, x / 2, {}), ("matmul", x, x.T / 2, {}),
        ("meshgrid", x[0], x[1], x[2], {}), ("meshgrid", x[0], x[1], {"indexing": "ij"}),
        ("searchsorted", x[0], np.array([0, 3, 9]), {"side": "right"}), ("where", x > 5, x, -x, {}),
        ("matmul", x, x.T.copy(), {}), ("tensordot", x, x, {}), ("tensordot", x, x, {"axes": ((1,), (1,))}), ("tensordot", x, x, {"axes": 0}),
        ("vecdot", x, x, {}), ("vecdot", x, x, {"axis": -2}), ("clip", x, 2, 7, {}), ("clip", x, {"max": 3}),
        ("cumulative_sum", x, {"axis": 0, "include_initial": True}), ("cumulative_prod", x[0], {"include_initial": True}),
        ("diff", x, {"n": 2}), ("diff", x, {"axis": 0, "prepend": x[:1], "append": x[1:]}), ("broadcast_arrays", x[:1], x[:, :1], {}),
        ("arange", 5, {}), ("arange", 2, 9, 3, {"dtype": "int32"}), ("arange", 5, 2, {}), ("linspace", 0.0, 1.0, 7, {}), ("linspace", 0.0, 3.0, 6, {"endpoint": False}),
        ("eye", 3, 4, {"k": 1}), ("eye", 3, {"k": -9}), ("full", (2, 2), 7, {}), ("zeros", 3, {"dtype": "bool"}), ("floor_divide", x, np.array([3, -4, 5, -6]), {}),
        ("remainder", x, np.array([3, -4, 5, -6]), {}), ("pow", x, x % 3, {}), ("bitwise_left_shift", x, x % 3, {}),
        ("hypot", x / 2, x / 4, {}), ("atan2", x / 2, x / 4, {}), ("logaddexp", x / 2, x / 4, {}), ("sum", x, {"axis": ()}), ("sum", x, {"axis": (0, 1), "dtype": "float32"}),
    ]:  # fmt: skip
        def run(namespace):
            named = {key: getattr(namespace, value) if key == "dtype" else value for key, value in keywords.items()}
            lists = [[namespace.asarray(part) for part in item] if isinstance(item, list) else item for item in arguments]
            named = {key: namespace.asarray(value) if isinstance(value, np.ndarray) else value for key, value in named.items()}
            return call(namespace, name, *lists, **named)

        wanted, found = run(strict), run(xp)
        assert isinstance(found, str) == isinstance(wanted, str), (name, keywords, found, wanted)
        if isinstance(wanted, str):
            continue
        for ours, theirs in zip(found, wanted, strict=True):
            # The default dtype is PyTorch's, float32.
            assert ours.dtype == theirs.dtype or name in ("linspace", "eye", "full", "zeros"), (name, keywords)
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, err_msg=name)


def test_arrays_without_dimensions_promote_like_others():
    x, y = xp.ones(3, dtype=xp.float32), xp.asarray(2.0, dtype=xp.float64)
    for name in ("add", "subtract", "pow", "atan2", "maximum", "copysign", "nextafter"):
        assert getattr(xp, name)(x, y).dtype == getattr(xp, name)(y, x).dtype == xp.float64
    assert xp.where(x > 0, x, y).dtype == xp.result_type(x, y) == xp.result_type(y, xp.float32) == xp.float64
    assert xp.add(x, 2.0).dtype == xp.result_type(x, 2.0) == xp.float32
    assert xp.less(x, y).dtype == xp.bool
    # Operators of tensors are PyTorch's.
    assert (x + y).dtype == xp.float32


def test_where_of_a_condition_alone_is_numpys():
    assert [found.tolist() for found in xp.where(xp.asarray([[False, True], [True, False]]))] == [[0, 1], [1, 0]]


def test_shapes_broadcast():
    assert xp.broadcast_shapes() == () and xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_shapes((2,), (3,))
    parts = xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))
    assert isinstance(parts, tuple) and parts[0].shape == (2, 3)
    assert xp.meshgrid() == ()


def test_elements_of_a_set():
    x = xp.asarray([[0, 1], [2, 3]])
    assert xp.isin(x, xp.asarray([1, 2]), invert=True).tolist() == [[True, False], [False, True]]
    assert xp.isin(x, 3).tolist() == [[False, False], [False, True]]
    assert xp.isin(3, x).item() is True
    # A number that no signed integer holds.
    unsigned = xp.asarray([5, 2**63], dtype=xp.uint64)
    assert xp.isin(unsigned, 2**63).tolist() == xp.equal(unsigned, 2**63).tolist() == [False, True]
    assert xp.full_like(unsigned, 2**63).tolist() == [2**63, 2**63]
    assert xp.where(unsigned == 5, unsigned, 2**63).dtype == xp.result_type(unsigned, 2**63) == xp.uint64
    with pytest.raises(OverflowError, match="too big"):
        xp.equal(unsigned, 2**64)


LINALG = """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose
outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()


@pytest.mark.parametrize(("extension", "names"), [("linalg", LINALG), ("fft", FFT)])
def test_extensions_are_numpys_on_tensors(extension, names):
    ours, theirs = getattr(xp, extension), getattr(np, extension)
    x = np.random.default_rng(0).normal(size=(4, 4))
    x = x @ x.T + np.eye(4)
    for name in names:
        arguments = {"matrix_power": [x, 3], "fftfreq": [5], "rfftfreq": [5]}.get(name, [x])
        if name in ("outer", "cross", "vecdot"):
            arguments = [x[0, :3], x[1, :3]]
        elif name in ("matmul", "solve", "tensordot"):
            arguments = [x, x]
        wanted = getattr(theirs, name)(*arguments)
        found = getattr(ours, name)(*(xp.asarray(one) if isinstance(one, np.ndarray) else one for one in arguments))
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        for ours_part, part in pairs:
            assert isinstance(ours_part, zs.Tensor)
            np.testing.assert_allclose(np.asarray(ours_part), part, rtol=1e-6, atol=1e-12, err_msg=name)
    # The standard's eigenvalues of any matrix are complex.
    if extension == "linalg":
        assert ours.eig(xp.asarray(x)).eigenvalues.dtype == xp.complex128
