"""Random programs beside NumPy, and beside torch where it can be had: operations, dtypes, shapes, layouts, in place, out."""

import inspect
import warnings

import numpy as np
import pytest
import zerostride as zs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SETTINGS = settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

# Operations that mean the same in NumPy for these dtypes, by both names.
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "maximum": "maximum", "minimum": "minimum", "fmax": "fmax",
    "fmin": "fmin", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "copysign": "copysign", "hypot": "hypot", "atan2": "arctan2", "div": "true_divide",
}  # fmt: skip
UNARY = {
    "abs": "absolute", "neg": "negative", "square": "square", "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin",
    "cos": "cos", "tanh": "tanh", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "sign": "sign",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "logical_not": "logical_not", "signbit": "signbit",
    "expm1": "expm1", "log1p": "log1p", "deg2rad": "deg2rad",
}  # fmt: skip
TORCH_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


@st.composite
def layouts(draw, shape, dtype, elements=None):
    """An array of a shape that need not be contiguous: transposed, reversed, a slice, stretched."""
    kind = draw(st.sampled_from(["plain", "transposed", "reversed", "sliced", "stretched"]))
    whole = tuple(2 * size + 1 for size in shape) if kind == "sliced" else shape
    if kind == "stretched" and shape:
        whole = (1, *shape[1:])
    if kind == "transposed":
        whole = shape[::-1]
    array = draw(hnp.arrays(dtype, whole, elements=elements))
    match kind:
        case "transposed":
            return array.T
        case "reversed":
            return array[tuple(slice(None, None, -1) for _ in shape)] if shape else array
        case "sliced":
            return array[tuple(slice(1, None, 2) for _ in shape)] if shape else array
        case "stretched" if shape:
            return np.broadcast_to(array, shape)
    return array


def elements(dtype):
    kind = np.dtype(dtype).kind
    if kind == "f":
        return st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.75, 1e3, 1e-3, float("inf"), -float("inf"), float("nan"), 7.0])
    if kind == "c":
        return st.builds(complex, st.integers(-3, 3), st.integers(-3, 3))
    return None


@st.composite
def operands(draw, dtypes, same_dtype=False):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0)).input_shapes
    first = draw(st.sampled_from(dtypes))
    second = first if same_dtype else draw(st.sampled_from(dtypes))
    return tuple(draw(layouts(shape, dtype, elements(dtype))) for shape, dtype in zip(shapes, (first, second)))


def close(found, expected, dtype):
    tolerance = {"float16": 2e-3, "float32": 4e-6, "float64": 1e-14, "complex64": 4e-6, "complex128": 1e-13}.get(str(dtype), 0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", BINARY)
@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_two_operands_as_numpy(name, data):
    floats = name in ("copysign", "hypot", "atan2", "div")
    a, b = data.draw(operands(["float32", "float64"] if floats else ["int32", "int64", "float32", "float64"], same_dtype=True))
    with np.errstate(all="ignore"):
        expected = getattr(np, BINARY[name])(a, b)
    found = getattr(zs, name)(a, b)
    assert found.shape == expected.shape
    assert found.dtype.name == expected.dtype.name
    close(found.numpy(), expected, expected.dtype)


@pytest.mark.parametrize("name", UNARY)
@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_one_operand_as_numpy(name, data):
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    a = data.draw(layouts(shape, dtype, elements(dtype)))
    # PyTorch's sign of NaN is 0.
    assume(name != "sign" or not np.isnan(a).any())
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np, UNARY[name])(a)
    found = getattr(zs, name)(zs.asarray(a))
    assert found.shape == expected.shape
    close(found.numpy(), expected, expected.dtype)


@SETTINGS
@given(st.data())
def test_in_place_and_out_write_what_numpy_writes(data):
    a, b = data.draw(operands(["float64"], same_dtype=True))
    result = np.broadcast_shapes(a.shape, b.shape)
    name = data.draw(st.sampled_from(["add", "mul", "maximum"]))
    with np.errstate(all="ignore"):
        expected = getattr(np, BINARY[name])(a, b)
    out = np.zeros(result[::-1]).T
    assert getattr(zs, name)(a, b, out=out) is out
    np.testing.assert_array_equal(out, expected)
    if result == a.shape and name != "maximum":
        target = np.array(a)
        getattr(zs.asarray(target), name + "_")(b)
        np.testing.assert_array_equal(target, expected)


@SETTINGS
@given(st.data())
def test_indices_and_assignments_as_numpy(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5))
    array = np.arange(int(np.prod(shape))).reshape(shape)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    np.testing.assert_array_equal(zs.asarray(array)[index].numpy(), array[index])
    expected, found = array.copy(), array.copy()
    expected[index] = -1
    zs.asarray(found)[index] = -1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "all", "any", "mean", "var"])
@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_reductions_as_numpy(name, data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5))
    a = data.draw(layouts(shape, "float64", st.floats(-2, 2, width=16)))
    dims = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1) | hnp.valid_tuple_axes(len(shape), min_size=1))
    keepdim = data.draw(st.booleans())
    correction = {"correction": 0} if name == "var" else {}
    found = getattr(zs, name)(a, dims, keepdim=keepdim, **correction)
    expected = getattr(np, name)(a, axis=dims, keepdims=keepdim)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)


def outcome(run):
    """What a call returns or raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run()
    except (RuntimeError, TypeError, IndexError, NotImplementedError, AttributeError) as error:
        return error


def agree(torch, found, expected):
    """Whether we and torch have the same result, or the same refusal."""
    if isinstance(expected, Exception) or isinstance(found, Exception):
        assert isinstance(found, type(expected)) or isinstance(expected, type(found)), (found, expected)
        # Of two mistakes together, a dtype that is refused and one that the target cannot hold or a shape,
        # either may be named; and of a method that does not exist, Python names the class.
        refused = ("output with shape", "not implemented", "not yet implemented", "can't be cast", "has no attribute")
        both = all(any(text in str(error) for text in refused) for error in (expected, found))
        assert both or str(found) == str(expected).splitlines()[0]
        return
    assert found.shape == tuple(expected.shape)
    assert found.dtype.name == str(expected.dtype).removeprefix("torch.")
    tolerance = 2e-3 if "16" in found.dtype.name else None
    torch.testing.assert_close(torch.from_dlpack(found.contiguous()), expected, equal_nan=True, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", sorted(BINARY | {"pow": 0, "remainder": 0, "fmod": 0, "floor_divide": 0, "bitwise_and": 0, "bitwise_or": 0, "bitwise_xor": 0, "gcd": 0, "heaviside": 0, "xlogy": 0, "logaddexp": 0}))
@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_two_operands_as_torch(name, data):
    torch = pytest.importorskip("torch")
    pair = data.draw(operands(TORCH_DTYPES))
    numbers = data.draw(st.sampled_from([None, 2, 0.5, True]))
    theirs = [torch.from_numpy(np.array(array)) for array in pair]
    ours = [zs.asarray(array) for array in pair]
    if numbers is not None:
        theirs[1] = ours[1] = numbers
    form = data.draw(st.sampled_from(["function", "operator", "in place", "out"]))

    def run(library, values):
        a, b = values
        if form == "in place":
            target = a.clone()
            return getattr(target, name + "_")(b)
        if form == "out":
            shape = tuple(np.broadcast_shapes(tuple(a.shape), tuple(b.shape) if hasattr(b, "shape") else ()))
            return getattr(library, name)(a, b, out=library.zeros(shape, dtype=a.dtype))
        return getattr(library, name)(a, b)

    expected, found = outcome(lambda: run(torch, theirs)), outcome(lambda: run(zs, ours))
    # torch lets a bool be raised to a bare bool, as to nothing else of that kind.
    assume(not (name == "pow" and numbers is True and pair[0].dtype == bool))
    # Numbers are operands of every operation here; and there is no complex32.
    assume("must be Tensor, not" not in str(expected))
    assume({array.dtype.name for array in pair} & {"complex64", "complex128"} == set() or "float16" not in {array.dtype.name for array in pair})
    agree(torch, found, expected)


def takes_one(name):
    """Whether a row takes one operand, and no dimension or other argument that has to be given."""
    _, *more = inspect.signature(getattr(zs, name)).parameters.values()
    return all(argument.name not in ("dim", "p") and argument.default is not argument.empty for argument in more)


# What torch has as a function of one tensor, and does as the table says for every dtype.
@pytest.mark.parametrize("name", sorted(name for name, operands in zs._zerostride._elementwise().items() if operands == 1 and takes_one(name)))
@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_one_operand_as_torch(name, data):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, name):
        pytest.skip(f"torch has no {name}")
    dtype = data.draw(st.sampled_from(TORCH_DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    array = data.draw(layouts(shape, dtype, elements(dtype)))
    form = data.draw(st.sampled_from(["function", "method", "in place", "out"]))

    def run(library, x):
        if form == "in place":
            return getattr(x.clone(), name + "_")()
        if form == "out":
            out = library.zeros(shape, dtype=x.dtype)
            return getattr(library, name)(x, out=out)
        return getattr(x, name)() if form == "method" else getattr(library, name)(x)

    # torch's i0 of f32 is infinite as soon as exp is.
    assume(name != "i0" or not (np.abs(array) > 80).any())
    # `real` and `imag` are attributes of torch's tensors, `selu` is a function only.
    assume(form != "method" or callable(getattr(torch.Tensor, name, None)))
    theirs, ours = torch.from_numpy(np.array(array)), zs.asarray(array)
    expected = outcome(lambda: run(torch, theirs))
    # Here everything has `out`, which takes what converts to its dtype, the modulus of complex numbers apart.
    assume(not any(text in str(expected) for text in ("unexpected keyword argument 'out'", "non-boolean outputs")))
    assume(form != "out" or name not in ("abs", "absolute") or "complex" not in dtype)
    agree(torch, outcome(lambda: run(zs, ours)), expected)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "argmax", "argmin", "all", "any", "var", "std", "logsumexp", "count_nonzero"])
@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_reductions_as_torch(name, data):
    torch = pytest.importorskip("torch")
    dtype = data.draw(st.sampled_from(TORCH_DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    array = data.draw(layouts(shape, dtype, elements(dtype)))
    dim = data.draw(st.none() | st.integers(-len(shape) - 1, len(shape)))
    keywords = {} if dim is None else {"dim": dim}
    if dim is not None and name != "count_nonzero" and data.draw(st.booleans()):
        keywords["keepdim"] = True
    # Of a single integer torch makes a list where several dimensions may stand; without any, some functions
    # do not exist.
    assume(name != "logsumexp" or dim is not None)
    theirs, ours = torch.from_numpy(np.array(array)), zs.asarray(array)
    agree(torch, outcome(lambda: getattr(zs, name)(ours, **keywords)), outcome(lambda: getattr(torch, name)(theirs, **keywords)))


@SETTINGS
@given(st.data())
def test_prints_as_torch(data):
    torch = pytest.importorskip("torch")
    dtype = data.draw(st.sampled_from(TORCH_DTYPES))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6))
    array = data.draw(layouts(shape, dtype, elements(dtype)))
    assert repr(zs.asarray(array)) == repr(torch.from_numpy(np.array(array)))
