"""What goes into and comes out of fused functions: everything that is known without elements, results as they were put together,
and a word for what cannot be traced."""

import collections
import copy
import typing

import numpy as np
import pytest
import zerostride as zs

X = np.arange(6.0).reshape(2, 3)


class Pair(typing.NamedTuple):
    low: object
    high: object


Named = collections.namedtuple("Named", "a b")


class Items(tuple):
    """A tuple of a class of its own."""


class Row(list):
    """A list of a class of its own."""


class Table(dict):
    """A dict of a class of its own."""


def like(found, wanted):
    """Whether two results have the same classes and values."""
    if isinstance(wanted, dict):
        assert type(found) is type(wanted) and list(found) == list(wanted)
        return all(like(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, (tuple, list)):
        assert type(found) is type(wanted) and len(found) == len(wanted)
        return all(map(like, found, wanted))
    if isinstance(wanted, (zs.Tensor, np.ndarray)):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
        return isinstance(found, (zs.Tensor, np.ndarray))
    return type(found) is type(wanted) and found == wanted


FORMS = {
    "named": lambda x: Named(x + 1, x.sum()),
    "typed": lambda x: Pair(high=x.amax(), low=x.amin()),
    "torch's": lambda x: zs.max(x, 1),
    "tuple": lambda x: Items([x, x * 2]),
    "list": lambda x: Row([x * 2, [x]]),
    "dict": lambda x: Table(a=x * 2),
    "ordered": lambda x: collections.OrderedDict([("b", x + 1), ("a", x)]),
    "default": lambda x: collections.defaultdict(list, a=x + 1),
    "keys": lambda x: {1: x + 1, (0, "a"): x, None: x.sum(), True: x} and {2: x + 1, (0, "a"): x, None: x.sum()},
    "none": lambda x: (x + 1, None, {"a": None}),
    "nothing": lambda x: None,
    "numbers": lambda x: (x.shape[0], 2.5, True, 1j, x + 1),
    "shape": lambda x: x.shape,
    "constants": lambda x: (x + 1, zs.ones(2), np.ones(2)),
    "empty": lambda x: ((), [], {}),
    "nested": lambda x: {"a": [Named(x + 1, (x, None)), {"b": x}]},
}


@pytest.mark.parametrize("form", FORMS)
def test_results_are_put_together_as_the_function_does(form):
    f = zs.fuse(FORMS[form])
    wanted = FORMS[form](zs.asarray(X))
    for argument in (X, zs.asarray(X)):
        for _ in range(3):
            assert like(f(argument), wanted)
    with zs.audit():
        assert like(f(X), wanted)


def test_arguments_and_repeated_results_are_the_same_objects():
    f = zs.fuse(lambda x, y: (x, y, x + y))
    for a, b in [(X, X + 1), (zs.asarray(X), X), (X, X)]:
        x, y, total = f(a, b)
        # The same array twice is one argument twice.
        assert x is a and (y is b)
        np.testing.assert_array_equal(np.asarray(total), np.asarray(a) + np.asarray(b))

    def twice(x):
        y = x * 2
        return y, [y], {"y": y}

    one, (two,), three = zs.fuse(twice)(X)
    assert one is two is three["y"]


def test_torch_in_torch_out_wherever_results_stand(torch):
    x = torch.arange(3.0)
    f = zs.fuse(lambda x: {"sum": x.sum(), "parts": Named(x, [x * 2, zs.ones(2), np.ones(2), torch.ones(2)]), "n": 3, "none": None})
    for _ in range(2):
        result = f(x)
        assert isinstance(result["sum"], torch.Tensor)
        assert result["parts"].a is x and isinstance(result["parts"], Named)
        assert [type(part) for part in result["parts"].b] == [torch.Tensor] * 4
        assert result["n"] == 3 and result["none"] is None
    mixed = zs.fuse(lambda a, b: (a + b, zs.zeros(1)))(np.ones(3, "f4"), x)
    assert [type(part) for part in mixed] == [torch.Tensor] * 2


def test_what_cannot_be_made_anew_is_said():
    class Fussy(tuple):
        def __new__(cls, one, two):
            return super().__new__(cls, (one, two))

    with pytest.raises(TypeError, match="Fussy, which cannot be made anew of its items"):
        zs.fuse(lambda x: Fussy(x + 1, x + 2))(X)
    for returned in ("text", object(), {1, 2}, zs.float32, len):
        with pytest.raises(zs.TraceError, match="a fused function returns arrays and numbers"):
            zs.fuse(lambda x, returned=returned: (x, returned))(X)


def test_results_that_contain_themselves_or_nest_without_end_are_refused():
    def around(make):
        def f(x):
            inner = make(x)
            (inner.append if isinstance(inner, list) else lambda item: inner.update(inner=item))([(x, inner)])
            return x, inner

        return f

    for make in (lambda x: [x], lambda x: {"x": x}, lambda x: collections.OrderedDict(x=x)):
        with pytest.raises(ValueError, match="Circular reference detected"):
            zs.fuse(around(make))(X)

    def nested(x, depth):
        return [nested(x, depth - 1)] if depth else x

    def deep(x):
        found = x
        for _ in range(100_000):
            found = (found,)
        return found

    with pytest.raises(RecursionError, match="nests more than 256 deep"):
        zs.fuse(deep)(X)
    found = zs.fuse(lambda x: nested(x + 1, 256))(X)
    for _ in range(256):
        (found,) = found
    assert (np.asarray(found) == X + 1).all()
    # What occurs twice does not contain itself.
    first, second = zs.fuse(lambda x: [[x + 1]] * 2)(X)
    assert (np.asarray(first[0]) == np.asarray(second[0])).all()



# What a tensor has that says something without its elements, and what a traced array answers.
KNOWN = {
    "shape": (2, 3), "ndim": 2, "dtype": zs.float64, "itemsize": 8, "nbytes": 48, "device": "cpu", "writable": False, "dim": 2, "numel": 6,
    "element_size": 8, "is_floating_point": True, "is_complex": False, "size": (2, 3), "__len__": 2,
}  # fmt: skip
# What needs elements or memory.
NEEDING = {
    "data_ptr", "is_contiguous", "item", "numpy", "storage_offset", "stride", "tolist", "__array__", "__bool__", "__complex__", "__dlpack__",
    "__dlpack_device__", "__float__", "__format__", "__index__", "__int__", "__reduce_ex__", "__setitem__",
}  # fmt: skip
# What is memory itself, or Python's affair with the class.
OF_MEMORY = {"__buffer__", "__release_buffer__", "__new__", "__doc__", "__module__", "__weakref__", "__dict__", "__hash__", "__repr__"}
OF_MEMORY |= {"__slotnames__"}  # `copyreg` leaves it on every class that has been asked for its state.


def test_a_traced_array_answers_to_all_that_a_tensor_has():
    answered = {}

    @zs.fuse
    def f(x):
        for name in vars(zs.Tensor):
            if name in OF_MEMORY or name.startswith("__i"):
                continue
            assert hasattr(type(x), name), name
            if name in KNOWN:
                value = getattr(x, name)
                answered[name] = value() if callable(value) else value
        assert (x.size(0), x.size(-1)) == (2, 3)
        assert copy.copy(x) is x and copy.deepcopy(x) is x
        assert x.to_device("cpu") is x
        with pytest.raises(IndexError, match="out of range"):
            x.size(2)
        return x + 1

    f(X)
    assert answered == KNOWN


@pytest.mark.parametrize("name", sorted(NEEDING - {"__reduce_ex__", "__format__", "__setitem__", "__index__"}))
def test_what_needs_elements_says_so(name):
    def f(x):
        value = getattr(x, name)
        return value() if callable(value) else value

    with pytest.raises(zs.TraceError, match="needs the elements|only shape and dtype are known"):
        zs.fuse(f)(X)


def test_an_array_in_a_file_answers_with_its_elements(tmp_path):
    np.save(tmp_path / "x.npy", X)
    x, y = zs.open(tmp_path / "x.npy"), zs.asarray(X)
    for name in ("stride", "is_contiguous", "is_complex", "size", "dim", "element_size", "storage_offset", "__dlpack_device__"):
        assert getattr(x, name)() == getattr(y, name)(), name
    assert (x.nbytes, x.itemsize, x.device, complex(x[0, 1])) == (48, 8, "cpu", 1)
    np.testing.assert_array_equal(np.from_dlpack(x), X)
    np.testing.assert_array_equal(np.linalg.norm(x, axis=1), np.linalg.norm(X, axis=1))
    np.testing.assert_array_equal(np.percentile(x, 50), 2.5)
    np.testing.assert_array_equal(np.einsum("ij->j", x), X.sum(0))
    np.testing.assert_array_equal(np.modf(x)[1], X)
    np.testing.assert_array_equal(np.add.accumulate(x), np.add.accumulate(X))


@pytest.mark.parametrize(
    "function",
    [
        np.linalg.svd, np.median, np.percentile, np.histogram, np.fft.fft, np.convolve, np.pad, np.gradient, np.interp, np.cov,
        np.modf, np.frexp, np.add.accumulate, np.add.outer, np.add.at, np.add.reduceat, np.spacing, np.allclose, np.array_equal, np.unique,
    ],
)  # fmt: skip
def test_a_numpy_function_without_a_counterpart_is_a_trace_error(function):
    arguments = {
        "percentile": (50,), "convolve": ([1, 2],), "pad": (1,), "interp": ([0, 1], [0, 1]), "outer": (X,), "at": (0, 1),
        "reduceat": ([0, 1],), "allclose": (X[0],), "array_equal": (X[0],),
    }  # fmt: skip

    def f(x):
        return function(x, *arguments.get(function.__name__, ()))

    for _ in range(2):
        with pytest.raises(zs.TraceError, match="elements|does not know yet|cannot"):
            zs.fuse(f)(X[0])


def test_functions_of_torch_with_their_private_arguments(torch):
    functional = torch.nn.functional
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    for function in [
        functional.relu, functional.silu, functional.softplus, functional.gelu, lambda x: functional.gelu(x, approximate="tanh"),
        lambda x: functional.softmax(x, dim=-1), lambda x: functional.log_softmax(x, dim=0), lambda x: functional.relu(x, inplace=False),
        torch.sigmoid, torch.tanh, torch.exp, lambda x: torch.where(x > 0, x, 0 * x), lambda x: torch.clamp(x, -1, 1),
        lambda x: torch.add(x, x, alpha=2), lambda x: torch.sum(x, dim=0, keepdim=True), lambda x: torch.matmul(x, x.T),
        lambda x: torch.ones(4) + x, lambda x: x * torch.ones(4), lambda x: torch.ones(4) - x, lambda x: torch.ones(3, 4) @ x.T,
        lambda x: functional.softmax(x, -1, dtype=torch.float64), lambda x: torch.ones(4).mul(x), lambda x: torch.maximum(x, torch.ones(4)),
        torch.norm, lambda x: torch.norm(x, dim=1), lambda x: torch.norm(x, p=1, dim=(0, 1)), lambda x: torch.norm(x, "fro", 1, True),
        lambda x: torch.norm(x, dim=0, dtype=torch.float64), torch.linalg.norm, lambda x: torch.linalg.norm(x, "fro"),
        lambda x: torch.linalg.norm(x, 3, dim=1), lambda x: torch.linalg.norm(x, dim=(0, 1), keepdim=True), torch.linalg.vector_norm,
        lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1), lambda x: torch.linalg.vector_norm(x, ord=0, dim=(0,), keepdim=True),
        torch.linalg.matrix_norm, functional.normalize, lambda x: functional.normalize(x, p=1, dim=0, eps=1e-3),
        lambda x: functional.layer_norm(x, (4,)), lambda x: functional.layer_norm(x, (4,), torch.ones(4), torch.ones(4), 0.1),
        lambda x: functional.rms_norm(x, (3, 4)), functional.elu, functional.selu, lambda x: functional.celu(x, 2.0), functional.mish,
        functional.leaky_relu, functional.hardtanh, functional.relu6, functional.hardswish, functional.hardsigmoid, functional.logsigmoid,
        functional.softsign, functional.tanhshrink, functional.hardshrink, functional.softshrink, lambda x: functional.threshold(x, 0.1, 0),
        lambda x: torch.cdist(x, x, p=1), lambda x: functional.cosine_similarity(x, torch.ones(4), dim=-1), torch.trace,
        lambda x: functional.pairwise_distance(x, torch.ones(4)), lambda x: torch.inner(x, x), lambda x: x.unflatten(1, (2, 2)),
    ]:  # fmt: skip
        torch.testing.assert_close(zs.fuse(function)(x), function(x))
    for function in [
        lambda x: torch.linalg.norm(x, 2), lambda x: torch.norm(x, "nuc"), lambda x: functional.relu(x, inplace=True), functional.dropout, lambda x: functional.conv1d(x, x), torch.linalg.svd, torch.fft.fft,
        lambda x: functional.softmax(x, dim=0) if functional.dropout(x) is None else x,
    ]:  # fmt: skip
        with pytest.raises(zs.TraceError, match="torch|a traced function"):
            zs.fuse(function)(x)
