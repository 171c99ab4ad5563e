"""`out`: every function that takes it in PyTorch takes it here, writes its results there, and never resizes."""

import inspect
import json
import pathlib

import numpy as np
import pytest
import zerostride as zs

FILE = json.loads((pathlib.Path(__file__).resolve().parents[3] / "spec" / "golden" / "out.json").read_text())
NAMES = {name: getattr(zs, name) for name in zs.__all__} | {"linalg": zs}
OPERANDS = {name: eval(text, dict(NAMES)) for name, text in FILE["provenance"]["operands"].items()}
CALLS = [case["call"] for case in FILE["cases"] if case["takes_out"]]


def called(call, **names):
    return eval(call, NAMES | OPERANDS | names)


def parts(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("call", CALLS)
def test_results_are_written_where_pytorch_writes_them(call):
    # Random numbers are others in each call.
    wanted = called(call.replace("rand(2,3)", "rand(2,3,seed=1)"))
    call = call.replace("rand(2,3)", "rand(2,3,seed=1)")
    targets = [zs.empty_like(part) for part in parts(wanted)]
    target = tuple(targets) if isinstance(wanted, tuple) else targets[0]
    found = called(f"{call[:-1]}, out=target)", target=target)
    assert type(found) is type(wanted)
    for given, written, part in zip(targets, parts(found), parts(wanted), strict=True):
        assert written is given
        np.testing.assert_array_equal(given, part)
    arrays = [np.empty(part.shape, part.numpy().dtype) for part in parts(wanted)]
    target = list(arrays) if isinstance(wanted, tuple) else arrays[0]
    for given, written, part in zip(arrays, parts(called(f"{call[:-1]}, out=target)", target=target)), parts(wanted), strict=True):
        assert written is given
        np.testing.assert_array_equal(given, part)


@pytest.mark.parametrize("call", CALLS)
def test_a_target_of_another_shape_is_refused(call):
    wanted = called(call)
    targets = [zs.zeros(2, 7, 1, dtype=part.dtype) for part in parts(wanted)]
    target = tuple(targets) if isinstance(wanted, tuple) else targets[0]
    with pytest.raises(RuntimeError, match="output with shape"):
        called(f"{call[:-1]}, out=target)", target=target)


def test_every_function_that_takes_out_in_pytorch_says_so():
    for call in CALLS:
        name = call.partition("(")[0].removeprefix("linalg.")
        assert "out" in inspect.signature(getattr(zs, name)).parameters, name


def test_targets_keep_their_dtype_and_may_be_operands():
    x = zs.tensor([[3, 1, 2]])
    assert zs.cat([x, x], out=zs.zeros(2, 3, dtype=zs.float64)).tolist() == [[3, 1, 2], [3, 1, 2]]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        zs.matmul(zs.ones(2, 2), zs.ones(2), out=zs.zeros(2, dtype=zs.int64))
    with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter \(Int\)"):
        zs.zeros(2, dtype=zs.float32, out=zs.ones(2, dtype=zs.int32))
    assert zs.arange(3, out=zs.zeros(3, dtype=zs.float16)).dtype is zs.float16
    square = zs.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert zs.matmul(square, square, out=square) is square
    assert square.tolist() == [[7, 10], [15, 22]]
    values, places = zs.sort(x, out=(x, zs.zeros(1, 3, dtype=zs.int64)))
    assert values is x and x.tolist() == [[1, 2, 3]] and places.tolist() == [[1, 2, 0]]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        zs.cat([x, x], out=zs.zeros(1, 3, dtype=zs.int64).expand(2, 3))


def test_a_target_has_the_dtype_that_is_asked_for():
    x = zs.tensor([[100, 100], [1, 100]])
    calls = {name: (x, 0) for name in ("sum", "prod", "nansum", "mean", "softmax", "log_softmax", "cumsum", "cumprod")}
    calls |= {"norm": (x.double(), 2, 0), "nanmean": (x.double(), 0)}
    for name, arguments in calls.items():
        function = getattr(zs, name)
        wanted = function(*arguments, dtype=zs.float64)
        assert function(*arguments, dtype=zs.float64, out=zs.empty_like(wanted)).tolist() == wanted.tolist()
        for target, named in ((zs.float32, "float"), (zs.int64, "long int"), (zs.complex128, "c10::complex<double>")):
            out = zs.full_like(wanted, 7, dtype=target)
            with pytest.raises(RuntimeError, match=f"^Expected out tensor to have dtype double, but got {named} instead$"):
                function(*arguments, dtype=zs.float64, out=out)
            assert (out == 7).all()
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype signed char, but got long int instead$"):
        zs.sum(x, dtype=zs.int8, out=zs.tensor(0))


def test_targets_that_are_none_are_told():
    x = zs.ones(2, 3)
    for out in (x, 3, (x,), (x, x, x)):
        with pytest.raises(TypeError, match=r"max\(\): argument 'out' must be tuple of Tensors"):
            zs.max(x, 0, out=out)
    with pytest.raises(TypeError, match="out must be a tensor or an array, not int"):
        zs.matmul(x, x.T, out=3)
    with pytest.raises(zs.TraceError, match="return the result"):
        zs.fuse(lambda x: zs.matmul(x, x.T, out=zs.zeros(2, 2)))(np.ones((2, 3)))
    with pytest.raises(zs.TraceError, match="return the result"):
        zs.fuse(lambda x: zs.max(x, 0, out=(zs.zeros(3), zs.zeros(3, dtype=zs.int64))))(np.ones((2, 3)))
