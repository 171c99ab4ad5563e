"""S1 to S16 of spec/broadcasting.md: the examples of the documents, with PyTorch's classes and texts."""

import pytest
import zerostride as zs


def added(*shapes):
    return tuple(zs.add(*map(zs.ones, shapes)).shape)


@pytest.mark.parametrize(
    "a, b, shape",
    [
        ((4, 3), (1, 3), (4, 3)),  # S1
        ((5, 3, 4, 1), (3, 1, 1), (5, 3, 4, 1)),  # S3
        ((5, 1, 4, 1), (3, 1, 2), (5, 3, 4, 2)),  # S5
        ((5, 7, 3), (5, 7, 3), (5, 7, 3)),  # S9
        ((5, 1, 4, 1), (3, 1, 1), (5, 3, 4, 1)),  # S11
        ((1,), (3, 1, 7), (3, 1, 7)),  # S12
        ((0,), (1,), (0,)),
        ((), (2, 0), (2, 0)),
    ],
)
def test_shapes_that_broadcast(a, b, shape):
    assert added(a, b) == shape
    assert zs.broadcast_shapes(a, b) == shape


@pytest.mark.parametrize(
    "a, b, text",
    [
        ((0,), (3, 4), "The size of tensor a (0) must match the size of tensor b (4) at non-singleton dimension 1"),  # S2
        ((5, 2, 4, 1), (3, 1, 1), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"),  # S4
        ((1, 2, 3), (3, 3), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"),  # S8
        ((0,), (2, 2), "The size of tensor a (0) must match the size of tensor b (2) at non-singleton dimension 1"),  # S10
    ],
)
def test_shapes_that_do_not(a, b, text):
    with pytest.raises(RuntimeError) as caught:
        added(a, b)
    assert str(caught.value) == text
    assert caught.value.shapes == (a, b)
    assert caught.value.dim == 1


def test_a_row_and_a_column():  # S6
    total = zs.tensor([[1, 2, 3]]) + zs.tensor([[4], [5], [6]])
    assert total.tolist() == [[5, 6, 7], [6, 7, 8], [7, 8, 9]]
    assert repr(total) == "tensor([[5, 6, 7],\n        [6, 7, 8],\n        [7, 8, 9]])"


def test_a_number_is_stretched():  # S7
    assert (zs.tensor([[1, 2, 3]]) * 5).tolist() == [[5, 10, 15]]


def test_in_place_the_operand_is_stretched():  # S13
    target = zs.zeros(5, 3, 4, 1)
    assert target.add_(zs.ones(3, 1, 1)) is target
    assert target.sum().item() == 60


def test_in_place_the_target_is_not():  # S14
    target = zs.ones(1, 3, 1)
    with pytest.raises(zs.BroadcastError) as caught:
        target.add_(zs.ones(3, 1, 7))
    assert str(caught.value) == "output with shape [1, 3, 1] doesn't match the broadcast shape [3, 3, 7]"
    assert any(repair["call"] == "a.add(b)" for repair in caught.value.repairs)
    assert "Step 1" in caught.value.__notes__[0]


def test_four_small_sums():  # S15
    assert (zs.tensor([[1, 2], [3, 4]]) + 10).tolist() == [[11, 12], [13, 14]]
    assert (zs.tensor([[1, 2, 3], [4, 5, 6]]) + zs.tensor([10, 20, 30])).tolist() == [[11, 22, 33], [14, 25, 36]]
    assert (zs.tensor([[1, 2], [3, 4], [5, 6]]) + zs.tensor([[10], [20], [30]])).tolist() == [[11, 12], [23, 24], [35, 36]]
    assert (zs.tensor([[1], [2], [3]]) + zs.tensor([10, 20])).tolist() == [[11, 21], [12, 22], [13, 23]]


def test_the_error_that_is_none():  # S16
    assert (zs.tensor([[1, 2, 3]]) + zs.tensor([[10], [20]])).tolist() == [[11, 12, 13], [21, 22, 23]]


def test_other_texts():
    x = zs.ones(2, 3)
    for run, error, text in [
        (lambda: x.expand(3, 3), RuntimeError, "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [3, 3].  Tensor sizes: [2, 3]"),
        (lambda: x.expand(-1, 2, 3), RuntimeError, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0"),
        (lambda: zs.zeros(2, dtype=zs.int64).add_(0.5), RuntimeError, "result type Float can't be cast to the desired output type Long"),
        (lambda: zs.broadcast_shapes((2, 3), (3, 2)), RuntimeError, "Attempting to broadcast a dimension of length 2 at -1! Mismatching argument at index 1 had (3, 2); but expected shape should be broadcastable to [2, 3]"),
        (lambda: zs.tensor([1]) // 0, RuntimeError, "ZeroDivisionError"),
        (lambda: zs.tensor([2]) ** -1, RuntimeError, "Integers to negative integer powers are not allowed."),
        (lambda: zs.tensor([True]) - zs.tensor([True]), NotImplementedError, "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."),
        (lambda: zs.ones(1, 3).expand(2, 3).add_(1), RuntimeError, "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation."),
        (lambda: x[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        (lambda: ~x, TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
        (lambda: zs.bitwise_not(x), NotImplementedError, "\"bitwise_not_cpu\" not implemented for 'Float'"),
        (lambda: zs.ones(2, -1), RuntimeError, "Trying to create tensor with negative dimension -1: [2, -1]"),
        (lambda: zs.full((-1,), 1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        (lambda: zs.broadcast_shapes((-1,)), ValueError, "Attempting to broadcast a dimension with negative length!"),
        (lambda: zs.tensor(2**63), ValueError, "Overflow when unpacking long long"),
        (lambda: x + 2**64, OverflowError, "int too big to convert"),
        (lambda: x.unsqueeze(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda: x.sum(2**64), ValueError, "Overflow when unpacking long long"),
        (lambda: zs.set_num_threads(-1), RuntimeError, "set_num_threads expects a positive integer"),
        (lambda: zs.set_num_threads(0), RuntimeError, "set_num_threads expects a positive integer"),
        (lambda: zs.set_num_threads(1.5), RuntimeError, "set_num_threads expects an int, but got float"),
        (lambda: x.unsqueeze(5), IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 5)"),
    ]:
        with pytest.raises(error) as caught:
            run()
        assert str(caught.value) == text


def test_classes_of_errors_are_pytorchs(torch):
    calls = {
        "bitwise_not": lambda m: ~m.ones(2), "index_add_": lambda m: m.ones(3).index_add_(0, m.tensor([3]), m.ones(1)),
        "index_add": lambda m: m.ones(3).index_add(0, m.tensor([-1]), m.ones(1)), "zeros": lambda m: m.zeros(-1),
        "eye": lambda m: m.eye(-1), "eye, m": lambda m: m.eye(1, -1), "linspace": lambda m: m.linspace(0, 1, -1),
        "repeat": lambda m: m.ones(4).repeat(-2), "tile": lambda m: m.ones(4).tile(-2), "sum_to_size": lambda m: m.ones(4).sum_to_size(-2),
        "kthvalue": lambda m: m.kthvalue(m.ones(1), -1), "split": lambda m: m.split(m.ones(1), [-1, 2]),
        "add": lambda m: m.tensor([1]) + 2**64, "alpha": lambda m: m.add(m.tensor([1]), 1, alpha=2**64), "full": lambda m: m.full((2,), 2**64),
        "fill_": lambda m: m.tensor([1]).fill_(2**64), "tensor": lambda m: m.tensor([1, 2**64]), "int8": lambda m: m.tensor(2**64, dtype=m.int8),
        "uint64": lambda m: m.tensor(2**64, dtype=m.uint64), "-1 as uint64": lambda m: m.tensor(-1, dtype=m.uint64),
        "set": lambda m: m.tensor([1]).__setitem__(0, 2**64), "get": lambda m: m.tensor([1])[2**64], "dim": lambda m: m.softmax(m.ones(1), 2**64),
        "dims": lambda m: m.ones(1).permute(2**64), "size": lambda m: m.zeros(2**64), "reshape": lambda m: m.ones(1).reshape((2**64,)),
        "narrow": lambda m: m.ones(1).narrow(0, 2**64, 1), "view()": lambda m: m.ones(1).view(), "reshape()": lambda m: m.ones(1).reshape(),
        "expand()": lambda m: m.ones(()).expand(), "permute()": lambda m: m.ones(()).permute(), "tile()": lambda m: m.ones(3).tile(),
        "sum_to_size()": lambda m: m.ones(3).sum_to_size(), "arange()": lambda m: m.arange(), "arange(end=, step=)": lambda m: m.arange(end=3, step=2),
    }  # fmt: skip
    for name, call in calls.items():
        with pytest.raises(Exception) as wanted:
            call(torch)
        with pytest.raises(wanted.type) as found:
            call(zs)
        assert type(found.value) is wanted.type, name
