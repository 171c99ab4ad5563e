"""PyTorch's spellings of calls: every keyword and overload here gives what PyTorch 2.15 answered, or is refused in words."""

import numpy as np
import pytest

import zerostride as zs

X = zs.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
PLACES = zs.tensor([[0, 0, 2], [1, 1, 1]])
ROWS = zs.tensor([[3, 1], [1, 2], [3, 1]])
COLUMN = zs.tensor([[True], [False]])


class Torch:
    """An object of torch's that is told by its name."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name


STRIDED, PRESERVED, CONTIGUOUS = map(Torch, ("torch.strided", "torch.preserve_format", "torch.contiguous_format"))
CHANNELS_LAST, SPARSE = Torch("torch.channels_last"), Torch("torch.sparse_coo")

ANSWERS = {
    "max of a 0-d tensor": (lambda: zs.max(X, zs.tensor(3)), [[3.0, 3.0, 3.0], [4.0, 5.0, 6.0]]),
    "max of a 0-d float": (lambda: X.max(zs.tensor(3.5)), [[3.5, 3.5, 3.5], [4.0, 5.0, 6.0]]),
    "min of a 0-d tensor": (lambda: X.min(zs.tensor(1)), [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
    "max along an integer of NumPy's": (lambda: X.max(np.int64(0))[0], [4.0, 5.0, 6.0]),
    "diff of order 0": (lambda: zs.tensor([1, 2, 4]).diff(0, prepend=zs.tensor([7])), [1, 2, 4]),
    "masked_scatter stretches": (
        lambda: zs.tensor([1, 2, 3]).masked_scatter(COLUMN, zs.tensor([9, 8, 7])),
        [[9, 8, 7], [1, 2, 3]],
    ),
    "scatter adds": (lambda: X.scatter(1, PLACES, X, reduce="add"), [[4.0, 2.0, 6.0], [4.0, 20.0, 6.0]]),
    "scatter multiplies": (
        lambda: X.scatter(1, PLACES, X, reduce="multiply"),
        [[2.0, 2.0, 9.0], [4.0, 600.0, 6.0]],
    ),
    "scatter adds a number": (lambda: X.scatter(1, PLACES, 3, reduce="add"), [[7.0, 2.0, 6.0], [4.0, 14.0, 6.0]]),
    "scatter multiplies by a number": (
        lambda: X.scatter(1, PLACES, value=3, reduce="multiply"),
        [[9.0, 2.0, 9.0], [4.0, 135.0, 6.0]],
    ),
    "scatter_ adds": (lambda: X.clone().scatter_(1, PLACES, 3, reduce="add"), [[7.0, 2.0, 6.0], [4.0, 14.0, 6.0]]),
    "scatter writes a value": (lambda: X.scatter(1, PLACES, value=9), [[9.0, 2.0, 9.0], [4.0, 9.0, 6.0]]),
    "gather with an empty index": (lambda: X[0].gather(0, zs.tensor([], dtype=zs.uint8)), []),
    "scatter with an empty index": (lambda: X[0].scatter(0, zs.tensor([], dtype=zs.bool), X[0]), [1.0, 2.0, 3.0]),
    "gather takes sparse_grad": (lambda: X.gather(1, PLACES[:, :1], sparse_grad=True), [[1.0], [5.0]]),
    "repeat_interleave knows the size": (
        lambda: zs.repeat_interleave(zs.tensor([1, 2]), zs.tensor([1, 2]), output_size=3),
        [1, 2, 2],
    ),
    "repeat_interleave of counts": (lambda: zs.repeat_interleave(zs.tensor([2, 0, 1])), [0, 0, 2]),
    "repeat_interleave along the last dimension": (
        lambda: ROWS.repeat_interleave(2, dim=-1, output_size=4),
        [[3, 3, 1, 1], [1, 1, 2, 2], [3, 3, 1, 1]],
    ),
    "unique rows": (lambda: zs.unique(ROWS, dim=0), [[1, 2], [3, 1]]),
    "unique columns": (lambda: zs.tensor([[True, False], [True, False]]).unique(dim=1), [[False, True]] * 2),
    "places of unique rows": (lambda: zs.unique(ROWS, return_inverse=True, dim=0)[1], [1, 0, 1]),
    "counts of unique rows": (lambda: zs.unique(ROWS, return_counts=True, dim=-2)[1], [1, 2]),
    "var_mean without correction": (lambda: zs.var_mean(zs.tensor([1.0, 3.0]), unbiased=False)[0], 1.0),
    "var_mean by position": (lambda: zs.var_mean(zs.tensor([1.0, 3.0]), True)[0], 2.0),
    "std_mean along a dimension": (lambda: zs.std_mean(zs.tensor([[1.0, 3.0]]), 1, False, True)[0], [[1.0]]),
    "to a device": (lambda: X.to("cpu"), X.tolist()),
    "to a device and a dtype": (lambda: X.to("cpu", zs.int64), [[1, 2, 3], [4, 5, 6]]),
    "to the dtype of another": (lambda: X.to(ROWS), [[1, 2, 3], [4, 5, 6]]),
    "to by name": (lambda: X.to(dtype="int64", device=Torch("cpu"), non_blocking=True), [[1, 2, 3], [4, 5, 6]]),
    "to takes its flags by position": (lambda: X.to("cpu", zs.int64, True, True), [[1, 2, 3], [4, 5, 6]]),
    "linspace between tensors": (lambda: zs.linspace(zs.tensor(0), zs.tensor(1.0), 3), [0.0, 0.5, 1.0]),
    "full of a tensor": (lambda: zs.full((2,), zs.tensor(3)), [3, 3]),
    "transpose by a list": (lambda: X.transpose([1, 0]), X.t().tolist()),
    "transpose of everything": (lambda: zs.transpose(zs.ones(2, 1, 3))[2], [[1.0, 1.0]]),
    "tensordot takes axes": (lambda: zs.tensordot(X[0], X[1], axes=1), 32.0),
    "copy_ takes non_blocking": (lambda: zs.zeros(3).copy_(X[0], non_blocking=True), [1.0, 2.0, 3.0]),
    "float takes a memory format": (lambda: ROWS.float(memory_format=PRESERVED), [[3.0, 1.0], [1.0, 2.0], [3.0, 1.0]]),
    "clone takes a memory format": (lambda: X.t().clone(memory_format=CONTIGUOUS), X.t().tolist()),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_call_in_pytorchs_spelling_gives_its_answer(name):
    call, wanted = ANSWERS[name]
    assert call().tolist() == wanted


def test_to_copies_where_its_flag_says_so():
    assert X.to(zs.float32).data_ptr() == X.to("cpu", zs.float32, False).data_ptr() == X.data_ptr()
    assert X.to(zs.float32, False, True).data_ptr() != X.data_ptr()


def test_what_is_none_is_not_given():
    """As in PyTorch."""
    for same in (X.to(), X.to(None), X.to(dtype=None), X.to(device=None, dtype=None)):
        assert same.dtype is X.dtype and same.tolist() == X.tolist()
    assert X.to(None, copy=True).tolist() == X.tolist()


def test_a_dimension_may_be_a_tensor_where_it_is_named():
    """As in PyTorch: without its name it is the other operand."""
    rows, one = zs.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]]), zs.tensor(1)
    assert rows.max(dim=one).values.tolist() == [5.0, 6.0] and rows.max(dim=one).indices.tolist() == [1, 2]
    assert zs.min(rows, dim=zs.tensor(0)).values.tolist() == [1.0, 2.0, 3.0]
    assert rows.min(one).tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    assert zs.fuse(lambda x: x.max(dim=one).values)(rows).tolist() == [5.0, 6.0]


def test_the_size_of_parts_has_the_name_of_the_function_and_of_the_method():
    x = zs.arange(5)
    assert [part.tolist() for part in x.split(split_size=2)] == [[0, 1], [2, 3], [4]]
    assert [part.tolist() for part in zs.split(x, split_size_or_sections=[1, 4])] == [[0], [1, 2, 3, 4]]


def test_sum_to_no_dimensions_promotes_as_a_sum():
    assert zs.tensor(True).sum_to_size(()).dtype is zs.int64 and zs.tensor(3, dtype=zs.int8).sum_to_size(()).dtype is zs.int64
    assert zs.tensor([3], dtype=zs.int8).sum_to_size(1).dtype is zs.int8


REFUSALS = {
    "to with three flags": (lambda: X.to(zs.int64, True, True, True), TypeError, "`non_blocking` and `copy`"),
    "a flag before the target": (lambda: X.to(True, zs.int64), TypeError, "`non_blocking` and `copy`"),
    "linspace from a row": (lambda: zs.linspace(X[0], 1, 3), TypeError, "a tensor of one without dimensions"),
    "another device": (lambda: zs.zeros(2, device="tpu"), NotImplementedError, "zeros\\(\\): device=tpu is not there"),
    "another layout": (lambda: zs.ones(2, layout=SPARSE), NotImplementedError, "all tensors are strided"),
    "gradients": (lambda: zs.tensor([1.0], requires_grad=True), NotImplementedError, "gradients are those of functions"),
    "pinned memory": (lambda: zs.full((2,), 1, pin_memory=True), NotImplementedError, "no pinned memory"),
    "another order": (lambda: X.clone(memory_format=CHANNELS_LAST), NotImplementedError, "row-major"),
    "to another device": (lambda: X.to("tpu"), TypeError, "tpu is neither a dtype nor a tensor nor a device"),
    "to another device by name": (lambda: X.to(device="tpu"), NotImplementedError, "it is 'cpu', 'cuda' or"),
    "to a GPU that is not there": (lambda: X.to("cuda:99"), RuntimeError, "cuda:99"),
    "another reduction": (lambda: X.scatter(1, PLACES, X, reduce="mean"), RuntimeError, "either add or multiply"),
    "two sources": (lambda: X.scatter(1, PLACES, X, value=1), TypeError, "exclude each other"),
    "no source": (lambda: X.scatter(1, PLACES), TypeError, "`src` is missing"),
    "a wrong size": (lambda: ROWS.repeat_interleave(2, output_size=5), RuntimeError, "expected 12 but got 5"),
    "a wrong size of counts": (
        lambda: zs.repeat_interleave(zs.tensor([1, 2]), zs.tensor([1, 2]), output_size=2),
        RuntimeError,
        "allocated size does not match required size",
    ),
    "counts in a matrix": (lambda: zs.repeat_interleave(ROWS), RuntimeError, "only accept 1D vector"),
    "counts alone along a dimension": (lambda: zs.repeat_interleave(zs.tensor([2, 0, 1]), dim=63), TypeError, "has no dim"),
    "a mask that stretches the target": (lambda: zs.ones(3).masked_scatter_(COLUMN, X), RuntimeError, "expand"),
    "unique slices without elements": (lambda: zs.unique(zs.zeros(0, 3), dim=1), RuntimeError, "0 sized dimensions"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_not_there_is_refused_in_words(name):
    call, error, words = REFUSALS[name]
    with pytest.raises(error, match=words):
        call()


CREATED = {
    "zeros": lambda **settled: zs.zeros(2, **settled),
    "ones": lambda **settled: zs.ones(2, **settled),
    "empty": lambda **settled: zs.empty(2, **settled),
    "full": lambda **settled: zs.full((2,), 1.0, **settled),
    "arange": lambda **settled: zs.arange(2.0, **settled),
    "linspace": lambda **settled: zs.linspace(0, 1, 2, **settled),
    "eye": lambda **settled: zs.eye(2, 1, **settled)[:, 0],
    "rand": lambda **settled: zs.rand(2, seed=1, **settled),
    "randn": lambda **settled: zs.randn(2, seed=1, **settled),
    "zeros_like": lambda **settled: zs.zeros_like(X[0, :2], **settled),
    "ones_like": lambda **settled: zs.ones_like(X[0, :2], **settled),
    "empty_like": lambda **settled: zs.empty_like(X[0, :2], **settled),
    "full_like": lambda **settled: zs.full_like(X[0, :2], 1.0, **settled),
}


@pytest.mark.parametrize("name", CREATED)
def test_what_is_settled_can_be_said_when_a_tensor_is_made(name):
    settled = {"device": "cpu", "layout": STRIDED, "pin_memory": False, "requires_grad": False}
    made = CREATED[name](**settled)
    assert (made.shape, made.dtype) == ((2,), zs.float32)
    assert made.tolist() == CREATED[name]().tolist()
    for name_of, value in {"device": "meta", "layout": SPARSE, "pin_memory": True, "requires_grad": True}.items():
        with pytest.raises(NotImplementedError, match=f"{name}\\(\\): {name_of}="):
            CREATED[name](**{name_of: value})
