"""Sums of products by equation: NumPy's values on random equations, in every way in which they are called and computed."""

import numpy as np
import pytest
import zerostride as zs
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = {"a": 2, "B": 3, "c": 1, "D": 4}


@st.composite
def equations(draw):
    """An equation that NumPy understands, and its operands."""
    words = draw(st.lists(st.text("aBcD", max_size=3), min_size=1, max_size=3))
    has_ellipsis = [draw(st.booleans()) for _ in words]
    covered = draw(st.lists(st.integers(1, 3), max_size=2))
    operands = []
    for place, word in enumerate(words):
        shape = [SIZES[letter] for letter in word]
        if has_ellipsis[place]:
            at = draw(st.integers(0, len(word)))
            words[place] = word[:at] + "..." + word[at:]
            shape[at:at] = covered[draw(st.integers(0, len(covered))) :]
        numbers = np.arange(1.0, 1 + np.prod(shape, dtype=int)) * (place + 1) % 7 - 3
        operands.append(numbers.reshape(shape))
    used = sorted({letter for word in words for letter in word if letter != "."})
    output = draw(st.lists(st.sampled_from(used), unique=True) if used else st.just([]))
    ellipsis = ["..."] if any(has_ellipsis) else []
    return ",".join(words), "".join(output + ellipsis), operands


@settings(max_examples=300, deadline=None)
@given(equations(), st.booleans(), st.sampled_from(["f4", "f8", "i8", "c16"]))
def test_sums_of_products_are_numpys(drawn, is_explicit, dtype):
    inputs, output, operands = drawn
    equation = f"{inputs}->{output}" if is_explicit else inputs
    operands = [operand.astype(dtype) for operand in operands]
    wanted = np.einsum(equation, *operands)
    found = zs.einsum(equation, *map(zs.tensor, operands))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(zs.fuse(lambda *operands: zs.einsum(equation, *operands))(*operands), wanted)


def test_every_way_to_call_it():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    wanted = (x @ y).tolist()
    for found in (
        zs.einsum("ij,jk->ik", x, y), zs.einsum("ij,jk", zs.tensor(x), y), zs.einsum(" i j , j k -> i k ", [x, y]), zs.einsum("ij,jk", (x, y)),
        zs.einsum(x, [0, 1], y, [1, 2], [0, 2]), zs.einsum(x, (0, 1), y, (1, 2)), zs.einsum(x, [0, 51], y, [51, 2]),
        zs.evaluate("einsum('ij,jk->ik', x, y)", x=x, y=y),
    ):  # fmt: skip
        assert found.tolist() == wanted
    assert zs.einsum(x, [..., 0], [0, ...]).tolist() == x.T.tolist()
    assert zs.einsum("", 3).item() == 3 and zs.einsum(",i->i", 2, np.float32([1, 2])).dtype is zs.float32
    assert zs.einsum("i,i", zs.ones(2, dtype=zs.int8), zs.ones(2, dtype=zs.int8)).dtype is zs.int8


def test_what_only_rearranges_is_a_view():
    x = zs.zeros(2, 3)
    zs.einsum("ij->ji", x)[0, 1] = 5
    zs.einsum("ii->i", x[:, :2]).fill_(1)
    assert x.tolist() == [[1, 0, 0], [5, 1, 0]]


def test_arrays_in_files(tmp_path):
    x = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "x.npy", x)
    file = zs.open(tmp_path / "x.npy")
    for equation, others in (("ij->i", ()), ("ij,ij->", (x,)), ("ij,kj->ik", (x,)), ("ij->ji", ())):
        np.testing.assert_array_equal(np.asarray(zs.einsum(equation, file, *others)), np.einsum(equation, x, *others))


def test_a_policy_sees_no_broadcast_that_letters_name():
    with zs.policy(mutual_stretch="error", rank_added="error", stretched="error"):
        assert zs.einsum("i,j->ij", zs.ones(2), zs.ones(3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((), ValueError, "must specify the equation string and at least one operand"),
        (("i",), ValueError, "must specify the equation string and at least one operand"),
        ((zs.ones(2),), ValueError, "at least one operand and its subscripts list"),
        (("i", []), ValueError, "must specify the equation string and at least one operand"),
        ((3, zs.ones(1)), TypeError, r"einsum\(\): argument 'equation' \(position 1\) must be str, not int"),
        (("i", "x"), TypeError, "expected Tensor as element 0 in argument 1, but got str"),
        ((zs.ones(2), [52]), ValueError, r"subscript in subscript list is not within the valid range \[0, 52\)"),
        ((zs.ones(2), [-1]), ValueError, "valid range"),
        ((zs.ones(2), [0.5]), ValueError, "valid range"),
        ((zs.ones(2), [0], [1]), RuntimeError, "output subscript B does not appear in the equation for any input operand"),
        (("i", zs.ones(1), zs.ones(1)), RuntimeError, "more operands were provided than specified in the equation"),
        (("ij,jk->ik", zs.ones(2, 3), zs.ones(3, 2).double()), RuntimeError, "expected scalar type Float but found Double"),
        (("i,i", zs.ones(2).bool(), zs.ones(2).bool()), NotImplementedError, "\"bmm\" not implemented for 'Bool'"),
    ],
)
def test_mistakes_are_told_in_pytorchs_words(arguments, kind, text):
    with pytest.raises(kind, match=text):
        zs.einsum(*arguments)
