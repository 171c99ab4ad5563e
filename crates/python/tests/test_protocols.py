"""Holds Python's own protocols, and the overloads of PyTorch's functions, to PyTorch's recorded answers."""

import importlib.util
import json
import pathlib
import pickle

import pytest

import zerostride as zs

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "spec" / "golden"

# Where tensors answer otherwise on purpose: parts that NumPy has of every array,
# arguments of no overload.
OTHERWISE = {
    "x.imag": "tensor([[0., 0., 0.], [0., 0., 0.]]) float32",
    "zs.std(x,unbiased=True,correction=1)": "TypeError: std() takes 'unbiased' or 'correction', not both; it is called as "
    "std(input, dim=None, unbiased=None, keepdim=False, *, correction=1)",
    "zs.std(x,1,2)": "TypeError: std() wants True or False as argument 'unbiased'; it is called as "
    "std(input, dim=None, unbiased=None, keepdim=False, *, correction=1)",
}


def questions():
    """The module that asked PyTorch, which needs none to ask anybody else."""
    spec = importlib.util.spec_from_file_location("protocols", GOLDEN / "protocols.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ASK = questions()
CASES = [(case["expression"], case["answer"]) for case in json.loads((GOLDEN / "protocols.json").read_text())["cases"]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[expression for expression, _ in CASES])
def test_tensors_answer_python_as_in_pytorch(expression, expected):
    found = ASK.answer(expression, ASK.values(zs))
    # Shapes that do not go together have a class of their own, which is a RuntimeError.
    found = found.replace("BroadcastError: ", "RuntimeError: ")
    if expected.startswith("TypeError"):
        found = found.replace("'zerostride.Tensor'", "'Tensor'").replace('"zerostride.Tensor"', '"Tensor"')
        found = found.replace("type zerostride.Tensor", "type Tensor")
    assert found.replace("zerostride.", "torch.") == OTHERWISE.get(expression, expected).replace("zerostride.", "torch.")


def test_rows_are_made_as_they_are_asked_for():
    rows = iter(zs.zeros(1, 3).expand(2**40, 3))
    assert next(rows).shape == (3,)
    assert rows.__length_hint__() == 2**40 - 1


def test_lists_are_those_of_numpy():
    for dtype in (zs.bool, zs.uint8, zs.uint64, zs.int16, zs.float16, zs.bfloat16, zs.float32, zs.float64, zs.complex64, zs.complex128):
        x = (zs.arange(24) % 5).reshape(2, 3, 4).to(dtype).permute(2, 0, 1)[::-1]
        expected = x.to(zs.float64 if dtype is zs.bfloat16 else dtype).numpy().tolist()
        assert x.tolist() == expected
        assert type(x[0, 0, 0].tolist()) is type(expected[0][0][0])


def test_parts_of_complex_numbers_are_attributes_in_traced_functions():
    x = zs.tensor([1 + 2j, 3 - 1j])
    assert zs.fuse(lambda x: x.real * 2 + x.imag)(x).tolist() == [4.0, 5.0]


def test_the_number_of_elements_is_also_a_method():
    x = zs.zeros(2, 3)
    assert (x.size, x.size + 1, x.size()) == (6, 7, (2, 3))
    assert (x.size(1), x.size(dim=-2)) == (3, 2)
    assert type(pickle.loads(pickle.dumps(x.size))) is int
    assert zs.fuse(lambda x: x * x.size + x.size(0))(zs.ones(2, 3))[0, 0] == 8
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(2)


def test_dtypes_are_no_text():
    # NumPy takes some words for dtypes, and raises ValueError for others.
    assert zs.float32 == "float32" and zs.float32 != "no dtype: at all\n"
