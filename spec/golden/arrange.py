"""Indexing, gathering, splitting, sorting, searching, running totals and order statistics: results, or the refusal.

Owns `arrange.json`. A call is data: a function, the tensor it is called on, and its arguments. The result of an in-place
function is that tensor afterwards.
"""

import math

import torch

from operations import DTYPES, NAMES, failure
from store import provenance, write_json

INTS = [n for n in DTYPES if n.startswith(("int", "uint"))]
REAL = [n for n in DTYPES if not n.startswith("complex")]
VALUES = [3.0, -1.0, 0.0, 2.0, 7.0, -5.0, 2.0, 1.0, 0.0, 4.0, -3.0, 6.0, 2.5, -0.0, 9.0, 1.5, 8.0, -7.0, 0.5, 5.0]
NAMED = [getattr(torch.return_types, name) for name in ("sort", "topk", "median", "nanmedian", "kthvalue")]
SPECIAL = [3.0, math.nan, -0.0, 0.0, -math.inf, math.nan, math.inf, 3.0, -2.0, 1e-3]


def tensor(values, dtype="int64"):
    return torch.tensor(values, dtype=DTYPES[dtype])


def numbers(dtype="float32", shape=(4, 5)):
    """The first values of a list, as whole or positive numbers where the dtype asks for that."""
    count = math.prod(shape)
    values = (VALUES * (count // len(VALUES) + 1))[:count]
    if dtype.startswith("uint"):
        values = [abs(int(value)) for value in values]
    elif dtype.startswith("int"):
        values = [int(value) for value in values]
    elif dtype.startswith("complex"):
        values = [complex(value, 1 - value) for value in values]
    return torch.tensor(values, dtype=DTYPES[dtype]).reshape(shape)


def ramp(*shape, dtype="float32"):
    return torch.arange(math.prod(shape)).to(DTYPES[dtype]).reshape(shape)


def plain(value):
    """A number as JSON."""
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def encoded(value):
    """An argument or a result as JSON."""
    if isinstance(value, torch.Tensor):
        values = [plain(element) for element in value.flatten().tolist()]
        return {"dtype": NAMES[value.dtype], "shape": list(value.shape), "values": values}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if value is Ellipsis:
        return "..."
    if isinstance(value, (list, tuple, *NAMED)):
        return [encoded(item) for item in value]
    return plain(value)


ALL = slice(None)
X = ramp(4, 5)
CUBE = ramp(2, 3, 4)
MASK = X % 3 == 0
ROWS = tensor([[3, 1, 3], [1, 2, 1], [3, 1, 3], [-3, 9, -3], [3, 0, 3]])
GAPS = tensor([[3.0, 1.0, math.nan, 2.0], [math.nan, 5.0, 1.5, math.nan], [math.nan] * 4, [4.0, -math.inf, 0.5, 7.0]], "float32")
HALF = tensor(0.5, "float32")
QUARTERS = tensor([0.0, 0.25, 0.5, 0.875, 1.0], "float32")
COUNTS = tensor([1, 0, 2, 1])
PARTS = tensor([0.5, 1.0, 2.0, 0.5], "float32")
TENTHS = tensor([0.1, 0.3, 0.7], "float32")
INDEXES = [
    (X, [(tensor([0, 2]),), (tensor([[0], [-1]]), tensor([0, 1, 2])), (ALL, tensor([4, 0, 0])), (tensor([[3, 1]]), slice(1, 4))]),
    (X, [(tensor([0, 1]), None, tensor([1, 2])), (None, tensor([0, 2])), (tensor([0, 2]), None), (..., tensor([1, 1])), (tensor([0, 2]), ..., None)]),
    (X, [(MASK,), (MASK, None), (None, MASK), (MASK[:, 0],), (ALL, MASK[0]), (MASK[:, 0], tensor([1, 2])), (tensor([3], "int32"), MASK[0])]),
    (X, [(True,), (False,), (True, tensor([0, 1])), (tensor([0, 1]), True), (True, True), (False, MASK), (True, 1), (..., True), (tensor(True),), (tensor(1, "uint8"),)]),
    (X, [(tensor(1),), (tensor(-1, "int16"),), (tensor(7),), (tensor(1), tensor([2, 3])), (tensor([1, 0, 1, 1], "uint8"),), (tensor([1, 0], "uint8"),)]),
    (X, [(tensor([0, 1], "int8"),), (tensor([0, 1], "int16"),), (tensor([0, 1], "uint16"),), (tensor([0.5], "float32"),), (tensor([1 + 0j], "complex64"),)]),
    (X, [(tensor([9]),), (ALL, tensor([9])), (tensor([0, -5]),), (tensor([[0, 1], [1, 9]]), 0), (0, tensor([[9]])), (MASK[:, 0], tensor([9, 1])), (0, 9), (None, 9), (..., 9)]),
    (X, [(tensor([0, 1]), tensor([0, 1, 2])), (MASK, tensor([0])), (MASK[:, 0], tensor([0, 1, 2])), (tensor([0]),) * 3, (ALL, ALL, 0), (MASK[0],), (ALL, MASK[:, 0]), (MASK[:2],), (slice(0, 2), MASK)]),
    (X, [(slice(None, None, 2), tensor([0, 1])), (tensor([], "int64"),), (tensor([], "int64"), tensor([0])), (tensor([[]], "int64"), 2), ()]),
    (CUBE, [(tensor([0, 1]), ALL, tensor([0, 3])), (ALL, tensor([0, 1]), tensor([0, 3])), (ALL, tensor([0, 1]), tensor([0, 9])), (tensor([0, 1]), ALL, tensor([0, 9])), (0, ALL, tensor([0, -9]))]),
    (CUBE, [(tensor([0, 1]), ALL, True), (tensor([0, 1]), True, ALL), (ALL, True, tensor([0, 1])), (True, ALL, tensor([0, 1])), (tensor([0, 1]), 0, tensor([1, 2])), (ALL, tensor([[0, 1], [2, 2]]))]),
    (CUBE, [(CUBE > 7,), (CUBE[0] > 3,), (ALL, CUBE[0] > 3), (CUBE[:, :, 0] > 3, tensor([1])), (..., CUBE[0, 0] > 1), (CUBE[:, :, 0] > 3, ..., None), (tensor([0]), ..., tensor([0]))]),
    (tensor(3.0, "float32"), [(True,), (False,), (True, None), (tensor(True),), (None, tensor([0])), (tensor([0]),), (0,)]),
    (torch.zeros(0, 5), [(tensor([0]),), (ALL, tensor([9])), (tensor([], "int64"),), (tensor([], "bool"),), (ALL, tensor([True] * 5))]),
    (torch.zeros(5, 0), [(tensor([0]),), (tensor([9]),), (ALL, tensor([0])), (tensor([True] * 5),)]),
]  # fmt: skip
VALUE = numbers()
ASSIGNMENTS = [
    (X, [((tensor([0, 1]),), 7), ((tensor([0, 1]),), tensor([1.0, 2.0], "float32")), ((tensor([0, 1]),), VALUE[:2]), ((tensor([0, 1]),), VALUE[:1]), ((tensor([2, 2]), ALL), VALUE[2:])]),
    (X, [((tensor([0, 1]),), VALUE[:2].double()), ((tensor([0, 1]),), torch.ones(1, 2, 5)), ((tensor([0, 1]),), torch.ones(3, 5)), ((MASK[:, 0],), torch.ones(3, 5))]),
    (X, [((MASK,), 3), ((MASK,), VALUE.flatten()[:7]), ((MASK,), VALUE.flatten()[:6]), ((MASK,), tensor(2.5, "float32")), ((MASK,), tensor(2.5, "float64")), ((ALL, MASK[0]), 9), ((MASK[:, 0],), VALUE[0])]),
    (X, [((slice(0, 2),), VALUE[:2]), ((slice(0, 2),), torch.ones(3, 5)), ((slice(0, 2),), torch.ones(1, 1, 2, 5)), ((0,), 3), ((0, 1), tensor(3.7, "float64")), ((..., None), 2), ((slice(None, None, 2), 1), 5)]),
    (X, [((True,), 3), ((False,), 3), ((tensor([9]),), 3), ((tensor([1, 1, 1]), 0), tensor([1.0, 2.0, 3.0], "float32")), ((tensor([]),), 3), ((tensor([], "int64"),), 3), ((tensor([1, 3]), tensor([0, 1])), 3)]),
    (X.long(), [((MASK,), 3.7), ((MASK,), 1j), ((tensor([0]),), 2**62), ((0,), tensor(3.7, "float32"))]),
    (CUBE, [((tensor([0, 1]), ALL, tensor([0, 3])), VALUE[:2, :3]), ((ALL, tensor([0, 0]), tensor([1, 1])), tensor([1.0, 2.0], "float32")), ((CUBE[:, :, 0] > 3,), 1), ((ALL, CUBE[0] > 3), VALUE.flatten()[:8])]),
]  # fmt: skip
SOURCE = VALUE + 1
CALLS = {
    "take": [(X, [(tensor([[0, -1], [3, 4]]),), (tensor([20]),), (tensor([-21]),), (tensor([1], "int32"),), (tensor(3),), (tensor([], "int64"),)])],
    "take_along_dim": [(X, [(tensor([[0], [1], [2], [3]]), 1), (tensor([0, 1]), None), (tensor([9]), 1), (tensor([[-1]]), 1), (tensor([[0], [1]]), 1), (tensor([[1, 2, 0, 0, 3]]), 0), (tensor([[0]]), 2)])],
    "gather": [
        (X, [(1, tensor([[0, 1], [1, 1]])), (0, tensor([[0, 3], [1, 2]])), (1, tensor([[0, 5], [1, 1]])), (1, tensor([[0, -1], [1, 1]])), (1, tensor([0])), (0, tensor([[0] * 6])), (2, tensor([[0]]))]),
        (X, [(1, tensor([[0]], "int32")), (1, tensor([[0.0]], "float32")), (1, tensor([], "int64")), (1, tensor([], "uint8")), (1, tensor([[]], "float32")), (-1, tensor([[4, 4, 4, 4, 4, 4]]))]),
        (tensor(1.0, "float32"), [(0, tensor(0)), (0, tensor([0, 0])), (0, tensor(1))]),
    ],
    "scatter_": [
        (X, [(1, tensor([[0, 1], [1, 1]]), SOURCE), (0, tensor([[3, 0, 1]]), SOURCE), (1, tensor([[0, 1], [1, 9]]), SOURCE), (1, tensor([[0, 1], [1, 1]]), SOURCE[:1]), (1, tensor([[0, 1], [1, 1]]), SOURCE.double())]),
        (X, [(0, tensor([0]), SOURCE), (2, tensor([[0]]), SOURCE), (0, tensor([], "int64"), SOURCE), (0, tensor([], "bool"), SOURCE)]),
        (tensor(1.0, "float32"), [(0, tensor(0), tensor(5.0, "float32")), (0, tensor([0, 0]), tensor([5.0, 6.0], "float32"))]),
    ],
    "scatter_add_": [(X, [(1, tensor([[0, 1], [1, 1]]), SOURCE), (0, tensor([[0] * 5] * 4), SOURCE), (1, tensor([[7]]), SOURCE), (1, tensor([[0]]), SOURCE.double())])],
    "scatter_multiply_": [(X, [(1, tensor([[0, 1], [1, 1]]), SOURCE), (0, tensor([[0] * 5] * 4), SOURCE), (1, tensor([[7]]), SOURCE), (1, tensor([[0]]), SOURCE.double())])],
    "index_select": [
        (X, [(0, tensor([0, 2, 2])), (1, tensor([4, 0])), (0, tensor([0, -1])), (0, tensor([0, 4])), (0, tensor(2)), (0, tensor([[2]])), (0, tensor([2], "int32")), (0, tensor([2], "int16")), (5, tensor([2])), (-1, tensor([], "int64"))]),
        (tensor(3.0, "float32"), [(0, tensor([0])), (0, tensor([0, 0])), (0, tensor([1]))]),
    ],
    "index_add_": [(X, [(0, tensor([0, 0]), SOURCE[1:3], 1), (0, tensor([0, 0]), SOURCE[1:3], 2), (1, tensor([4, 0, 4]), SOURCE[:, :3], 1), (0, tensor([0, 0]), SOURCE[1:4], 1), (0, tensor([0, 9]), SOURCE[1:3], 1), (0, tensor([0, 1]), SOURCE[1:3].double(), 1), (0, tensor([0, 1]), SOURCE[1:3, :2], 1), (3, tensor([0]), SOURCE[:1], 1)])],
    "masked_select": [(X, [(MASK,), (MASK[0],), (MASK[:, :1],), (X,), (MASK.byte(),), (MASK[0, :2],)]), (tensor([1.0, 2.0], "float32"), [(tensor(True),), (tensor([[True, False], [False, True]]),)]), (tensor(2), [(tensor(True),), (tensor(False),)])],
    "masked_scatter_": [(X, [(MASK, SOURCE), (MASK[0], SOURCE), (MASK, SOURCE[0]), (MASK, SOURCE.long()), (X, SOURCE), (MASK[0, :2], SOURCE)])],
    "sort": [(X, [(2, False), (-3, False), (0, True), (1, False)]), (CUBE.flip(1), [(1, False), (0, True), (-1, True)]), (tensor(3.0, "float32"), [(0, False), (1, False)]), (torch.zeros(0, 3), [(1, False), (0, True)]), (numbers("complex64"), [(0, False)])],
    "topk": [(VALUE, [(2, 1, True), (3, 0, False), (0, 1, True), (6, 1, True), (1, 5, True)]), (tensor(3.0, "float32"), [(1, 0, True), (2, 0, True)]), (MASK, [(1, 1, True)]), (numbers("complex64"), [(1, 1, True)])],
    "nonzero": [(X, [()]), (MASK, [()]), (CUBE - 4, [()]), (tensor(3.0, "float32"), [()]), (tensor(0), [()]), (torch.zeros(0, 3), [()]), (torch.zeros(2, 2), [()]), (tensor(SPECIAL, "float32"), [()])],
    "count_nonzero": [(VALUE, [(None,), (0,), ((0, 1),), (5,)]), (MASK, [(None,), (1,)]), (tensor(3), [(None,)]), (torch.zeros(0, 3), [(None,), (0,)]), (numbers("complex64"), [(None,)])],
    "searchsorted": [
        (tensor([1.0, 2.0, 2.0, 3.0], "float32"), [(tensor([2.0, 2.5, 0.0, 9.0, math.nan], "float32"), right) for right in (False, True)] + [(tensor([2]), False), (tensor(2.0, "float32"), True), (tensor([[2.5], [0.5]], "float64"), False), (tensor([], "float32"), False)]),
        (tensor([[1.0, 2.0], [2.0, 3.0]], "float32"), [(tensor([[2.0, 2.0, 9.0], [2.0, 2.0, 3.0]], "float32"), False), (tensor([2.0, 2.0], "float32"), False), (tensor(2.0, "float32"), False)]),
        (tensor([1.0, math.nan, math.nan], "float32"), [(tensor([math.nan, 2.0], "float32"), False), (tensor([math.nan, 2.0], "float32"), True)]),
        (tensor(3.0, "float32"), [(tensor([2.0], "float32"), False)]), (tensor([], "float32"), [(tensor([2.0], "float32"), False)]),
        (tensor([1j], "complex64"), [(tensor([1j], "complex64"), False)]), (tensor([False, True]), [(tensor([True]), False)]),
    ],
    "unique": [(VALUE, [()]), (X, [()]), (MASK, [()]), (tensor(SPECIAL, "float32"), [()]), (tensor(3.0, "float32"), [()]), (torch.zeros(0), [()]), (torch.zeros(0, 3), [()]), (tensor([1j], "complex64"), [()])],
    "unique_along": [
        (ROWS, [(0,), (1,), (-1,), (2,)]), (CUBE % 2, [(0,), (1,), (2,)]), (MASK, [(0,), (1,)]), (tensor([[1.0, -0.0], [1.0, 0.0], [-1.0, 2.0]], "float32"), [(0,)]),
        (tensor(3), [(0,)]), (torch.zeros(0, 3), [(0,), (1,)]), (torch.zeros(0, 0), [(1,)]), (tensor([1j], "complex64"), [(0,)]),
    ],
    "cumsum": [(X, [(0,), (1,), (-1,), (2,)]), (CUBE, [(0,), (1,), (2,)]), (tensor(3.0, "float32"), [(0,), (1,)]), (torch.zeros(0, 3), [(0,), (1,)]), (MASK, [(0,)]), (tensor(SPECIAL, "float32"), [(0,)])],
    "cumprod": [(VALUE, [(0,), (1,), (2,)]), (MASK, [(1,)]), (tensor(3), [(0,)])],
    "diff": [(VALUE, [(1, -1, None, None), (2, 0, None, None), (9, 1, None, None), (0, 1, None, None), (0, 0, X[:1], X[1:3]), (0, 0, X[0], None), (1, 0, X[:1], X[1:3]), (1, 1, X[:1], None), (1, 0, X[:1, :2], None), (1, 0, X[0], None), (1, 7, None, None)]), (MASK, [(1, 1, None, None)]), (tensor(3.0, "float32"), [(1, -1, None, None)])],
    "median": [(VALUE, [(), (1,), (-1, True), (2,)]), (GAPS, [(), (1,), (0, True)]), (tensor(3.0, "float32"), [(), (0,), (0, True), (1,)]), (torch.zeros(0), [(), (0,)]), (torch.zeros(0, 3), [(0,), (1,)]), (MASK, [(), (1,)]), (tensor([5, -2, 9, 4]), [(), (0,)]), (numbers("complex64"), [(1,)])],
    "nanmedian": [(VALUE, [(), (1,)]), (GAPS, [(), (0, True)]), (GAPS[:2], [(1,)]), (tensor([math.nan, math.nan], "float32"), [(), (0,)]), (torch.zeros(0), [(), (0,)]), (MASK, [(), (1,)])],
    "kthvalue": [(VALUE, [(1, 1), (5, 1), (2, -1, True), (6, 1), (0, 1), (1, 4)]), (GAPS[0], [(2, 0), (4, 0)]), (tensor(3.0, "float32"), [(1, 0), (2, 0)]), (torch.zeros(0, 3), [(1, 0), (1, 1)]), (MASK, [(1, 1)]), (numbers("complex64"), [(1, 1)])],
    "quantile": [(on, [(q, dim, keepdim, how) for q in (HALF, QUARTERS) for dim, keepdim in ((None, False), (None, True), (0, False), (1, True)) for how in ("linear", "lower", "higher", "midpoint", "nearest")]) for on in (VALUE, GAPS)]
    + [(VALUE, [(tensor([0.5], "float64"), 1, False, "linear"), (tensor([[0.5]], "float32"), 1, False, "linear"), (tensor([], "float32"), 1, False, "linear"), (HALF, 2, False, "linear")])]
    + [(ramp(11), [(TENTHS, 0, False, how) for how in ("lower", "higher", "nearest")])]
    + [(VALUE.double(), [(QUARTERS.double(), -1, False, "linear")]), (tensor(3.0, "float32"), [(HALF, None, False, "linear"), (QUARTERS, 0, True, "linear"), (HALF, 1, False, "linear")])]
    + [(torch.zeros(0, 3), [(HALF, None, False, "linear"), (HALF, 1, False, "linear")]), (X.long(), [(HALF, None, False, "linear")]), (VALUE.half(), [(HALF.half(), None, False, "linear")]), (CUBE, [(QUARTERS, 1, False, "linear"), (QUARTERS, 1, True, "linear")])],
    "nanquantile": [(on, [(q, dim, keepdim, how) for q in (HALF, QUARTERS) for dim, keepdim in ((None, False), (0, False), (1, True)) for how in ("linear", "lower", "midpoint", "nearest")]) for on in (VALUE, GAPS)],
    "nansum": [(GAPS, [(None,), (0,), (1, True), (4,)]), (MASK, [(None,)]), (X.long(), [(0,)]), (torch.zeros(0, 3), [(0,)]), (numbers("complex64"), [(None,)])],
    "nanmean": [(GAPS, [(None,), (0,), (1, True), (4,)]), (VALUE, [(1,)]), (MASK, [(None,)]), (X.long(), [(0,)]), (torch.zeros(0, 3), [(0,)]), (numbers("complex64"), [(None,)])],
    "roll": [(X, [((1,), (1,)), ((-2,), ()), ((1, 2), (0, 1)), ((1, 2), (0,)), ((1,), (5,)), ((), ()), ((1, 2), ()), ((103,), (-1,)), ((1, 1), (0, 0))]), (torch.zeros(0), [((3,), (0,))]), (tensor(1.0, "float32"), [((3,), (0,)), ((3,), ())])],
    "repeat_interleave": [(X, [(2, None), (2, 0), (3, 1), (0, 1), (2, 7)]), (tensor(3.0, "float32"), [(2, None)])],
    "repeat_each": [(X, [(tensor([1, 2, 0, 1]), 0), (tensor([1, 2, 0]), 0), (tensor([1, -2, 0, 1]), 0), (tensor([1.0], "float32"), 0), (tensor([2]), 1), (tensor(2), 1), (tensor([[2]]), 0), (tensor([2]), None), (tensor([0, 2, 1, 1], "int32"), -2)])],
    "split": [(X, [(2, 0), (2, 1), (3, 0), (9, 1), (0, 0), (2, 2), (2, -1)]), (torch.zeros(0), [(0, 0), (2, 0)]), (tensor(3.0, "float32"), [(1, 0)])],
    "split_sizes": [(X, [([1, 3], 0), ([1, 2], 0), ([0, 5, 0], 1), ([], 0)])],
    "chunk": [(X, [(3, 0), (2, 1), (9, 1), (0, 0)]), (torch.zeros(0, 2), [(3, 0)]), (tensor(3.0, "float32"), [(2, 0)])],
    "unbind": [(X, [(0,), (1,), (-1,), (2,)]), (tensor(3.0, "float32"), [(0,)]), (torch.zeros(0, 2), [(0,)])],
    "tril": [(X, [(0,), (-1,), (2,), (9,), (-9,)]), (CUBE, [(1,)]), (tensor([1, 2]), [(0,)]), (tensor(1), [(0,)]), (torch.zeros(2, 0, 3), [(0,)]), (MASK, [(0,)])],
    "triu": [(X, [(0,), (-1,), (2,), (9,), (-9,)]), (CUBE, [(1,)]), (tensor([1, 2]), [(0,)]), (MASK, [(1,)])],
    "meshgrid": [([tensor([1, 2]), tensor([3, 4, 5])], [("ij",), ("xy",)]), ([tensor([1, 2]), tensor([3.0], "float32")], [("ij",)]), ([tensor(1), tensor([3, 4]), tensor([5, 6])], [("ij",), ("xy",)]), ([], [("ij",)]), ([tensor([1, 2])], [("xy",)])],
    "hstack": [([tensor(1.0, "float32"), tensor(2.0, "float32")], [()]), ([X, VALUE], [()]), ([], [()]), ([tensor([1]), tensor([2.5], "float32")], [()]), ([CUBE, CUBE[:, :1]], [()]), ([tensor(1.0, "float32"), X], [()])],
    "vstack": [([tensor(1), tensor(2)], [()]), ([tensor([1, 2]), tensor([3, 4])], [()]), ([X, VALUE], [()]), ([], [()]), ([X, X[:, :3]], [()])],
    "dstack": [([tensor(1), tensor(2)], [()]), ([tensor([1, 2]), tensor([3, 4])], [()]), ([X, VALUE], [()]), ([], [()]), ([CUBE, CUBE[:, :, :1]], [()])],
    "outer": [(tensor([1, 2]), [(tensor([3.0, 4.0], "float32"),), (tensor([[3]]),), (tensor([], "int64"),)]), (tensor(1), [(tensor([3]),)])],
    "inner": [
        (X, [(VALUE,), (X[0],), (X[:2],), (tensor(2.0, "float32"),), (X[:, :2],), (X.double(),), (CUBE[..., :4],)]), (tensor(3.0, "float32"), [(X,)]),
        (torch.zeros(2, 0), [(torch.zeros(3, 0),)]), (X.long(), [(X.long(),)]), (MASK, [(MASK,)]),
    ],
    "trace": [(X, [()]), (X.long(), [()]), (X.to(torch.int8), [()]), (X[0], [()]), (CUBE, [()]), (MASK, [()]), (torch.zeros(0, 3), [()]), (tensor(3.0, "float32"), [()])],
    "fliplr": [(X, [()]), (CUBE, [()]), (X[0], [()]), (torch.zeros(2, 0), [()])],
    "flipud": [(X, [()]), (CUBE, [()]), (X[0], [()]), (tensor(3.0, "float32"), [()])],
    "vecdot": [
        (VALUE, [(X, -1), (X, 0), (X[0], -1), (X[:, :1], 0), (X[:, :2], -1), (X.double(), -1), (X, 5)]), (tensor(3.0, "float32"), [(tensor(2.0, "float32"), -1)]),
        (numbers("complex64"), [(numbers("complex64").flip(0), 1)]), (MASK, [(MASK, -1)]),
    ],
    "tensordot": [
        (X, [(VALUE, [0, 1], [0, 1]), (VALUE, [1], [1]), (VALUE, [0], [1]), (VALUE, [], []), (VALUE, [1], [0, 1]), (VALUE[:, :1], [1], [1]), (X.double(), [1], [1]), (VALUE, [5], [0]), (VALUE, [0], [-5]), (VALUE, [-1], [-1])]),
        (CUBE, [(ramp(4, 3, 5), [1, 2], [1, 0]), (ramp(4, 3, 5), [1, 1], [1, 0]), (ramp(4, 3, 5), [2, 1], [0, 1]), (ramp(2, 3, 4), [0, 1, 2], [0, 1, 2])]),
        (X.long(), [(X.long(), [0, 1], [0, 1])]), (tensor(3.0, "float32"), [(tensor(4.0, "float32"), [], [])]), (torch.zeros(3, 0), [(torch.zeros(0, 2), [1], [0])]),
    ],
    "cov": [
        (numbers(shape=(3, 4)), [(1, None, None), (0, None, None), (4, None, None), (1, COUNTS, None), (1, None, PARTS), (0, None, PARTS), (1, COUNTS, PARTS), (1, COUNTS.int(), PARTS.double()), (5, COUNTS, None)]),
        (numbers(shape=(3, 4)), [(1, PARTS, None), (1, None, COUNTS), (1, -COUNTS, None), (1, None, -PARTS), (1, COUNTS[:3], None), (1, None, PARTS[:3]), (1, COUNTS[None], None), (1, None, PARTS[None]), (1, 0 * COUNTS, None), (1, MASK[0, :4], None)]),
        (numbers(shape=(4,)), [(1, None, None), (1, COUNTS, PARTS)]), (tensor(3.0, "float32"), [(1, None, None), (0, None, None)]), (CUBE, [(1, None, None)]), (CUBE, [(1, CUBE, None)]),
        (torch.zeros(2, 0), [(1, None, None), (1, tensor([]).long(), None)]), (torch.zeros(0, 4), [(1, None, None)]), (numbers(shape=(1, 4)), [(1, None, None)]),
    ],
    "corrcoef": [
        (numbers(shape=(3, 4)), [()]), (numbers("float64", (5, 4)), [()]), (X[:1, :4], [()]), (X[0, :4], [()]), (torch.ones(4), [()]), (torch.ones(2, 4), [()]), (tensor(3.0, "float32"), [()]), (CUBE, [()]), (torch.zeros(2, 0), [()]),
    ],
    "arange": [([], [(0, 5, 1, "float64"), (0, 5, 1, "uint8"), (0.5, 5, 1, "int32"), (-2.5, 3, 1, "int64"), (0, 1, 0.25, "float16"), (1, 2, 0.3, "float16"), (0, 3, 0.3, "float64"), (0, 3, 0.3, "float32"), (1, 10, 2.7, "int32"), (10, 1, -3, "int8"), (True, 5, 1, "int64"), (0, 5, 1, "complex64"), (0, 5, 1, "bool"), (0, 5, -1, "int64"), (0, 5, 0, "int64"), (0, 1, -5.5, "float64"), (1, 0, 5.5, "float64"), (0, 1, 1e-30, "float64"), (5, 5, 1, "int64"), (2**62, 2**62 + 5, 2, "int64")])],
    "linspace": [([], [(0, 10, 5, "int32"), (0, 1, 4, "float64"), (0, 1, 4, "complex64"), (0, 1 + 1j, 4, "complex64"), (3 + 1j, 1, 3, "complex128"), (0, 1, 0, "float32"), (0, 1, 1, "float64"), (0, 1, 7, "float16"), (-3.5, 9, 6, "int64"), (0, 300, 4, "uint8"), (1, 2, 3, "bool"), (1, 2, 11, "float32"), (5, -5, 6, "bfloat16")])],
}  # fmt: skip
DTYPE_CALLS = [
    ("index", tensor([[3, 0], [-1, 1]]), slice(1, None)),
    ("index", None, MASK),
    ("masked_select", MASK),
    ("gather", 1, tensor([[4, 0], [1, 1]])),
]
SCANS = [
    ("sort", 1, False),
    ("sort", 0, True),
    ("topk", 2, 1, True),
    ("nonzero",),
    ("unique",),
    ("unique_along", 1),
    ("cumsum", 1),
    ("cumprod", 0),
    ("tril", 0),
    ("median", 1),
    ("nanmedian",),
    ("kthvalue", 2, 1),
]


def call(name, operand, arguments):
    """One call as PyTorch spells it."""
    if name == "index":
        return operand[tuple(arguments)]
    if name == "assign_":
        operand[tuple(arguments[0])] = arguments[1]
        return operand
    if name == "index_put_":
        return operand.index_put_(*arguments)
    if name == "index_add_":
        return operand.index_add_(*arguments[:3], alpha=arguments[3])
    if name == "sort":
        return operand.sort(dim=arguments[0], descending=arguments[1], stable=True)
    if name == "searchsorted":
        return torch.searchsorted(operand, arguments[0], right=arguments[1])
    if name == "unique":
        return torch.unique(operand, return_inverse=True, return_counts=True)
    if name == "unique_along":
        return torch.unique(operand, dim=arguments[0], return_inverse=True, return_counts=True)
    if name == "scatter_multiply_":
        return operand.scatter_(*arguments, reduce="multiply")
    if name == "repeat_each":
        return torch.repeat_interleave(operand, *arguments)
    if name == "split_sizes":
        return torch.split(operand, *arguments)
    if name in ("arange", "linspace"):
        return getattr(torch, name)(*arguments[:3], dtype=DTYPES[arguments[3]])
    if name in ("hstack", "vstack", "dstack"):
        return getattr(torch, name)(operand)
    if name == "vecdot":
        return torch.linalg.vecdot(operand, arguments[0], dim=arguments[1])
    if name == "tensordot":
        return torch.tensordot(operand, arguments[0], dims=arguments[1:])
    if name == "cov":
        return torch.cov(operand, correction=arguments[0], fweights=arguments[1], aweights=arguments[2])
    if name in ("quantile", "nanquantile"):
        return getattr(torch, name)(operand, *arguments[:3], interpolation=arguments[3])
    if name == "meshgrid":
        return torch.meshgrid(*operand, indexing=arguments[0])
    if hasattr(operand, name):
        return getattr(operand, name)(*arguments)
    return getattr(torch, name)(operand, *arguments)


class Recorder:
    """The cases of the file."""

    def __init__(self):
        self.cases = []

    def ask(self, name, operand, *arguments):
        case = {"fn": name, "on": encoded(operand), "args": encoded(arguments)}
        if isinstance(operand, torch.Tensor):
            operand = operand.clone()
        try:
            result = call(name, operand, arguments)
        except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError) as error:
            case["error"] = failure(error)
        else:
            case["result"] = encoded(result)
        self.cases.append(case)


def main():
    recorder = Recorder()
    for operand, every in INDEXES:
        for items in every:
            recorder.ask("index", operand, *items)
    for operand, every in ASSIGNMENTS:
        for items, value in every:
            recorder.ask("assign_", operand, items, value)
    for name, groups in CALLS.items():
        for operand, every in groups:
            for arguments in every:
                recorder.ask(name, operand, *arguments)
    for dtype in DTYPES:
        operand = numbers(dtype)
        for name, *arguments in DTYPE_CALLS:
            recorder.ask(name, operand, *arguments)
        recorder.ask("assign_", operand, (MASK,), operand.flip(0).flatten()[:7])
        recorder.ask("scatter_", operand, 1, tensor([[0, 1], [1, 1]]), operand.flip(0))
        ordered = operand if dtype.startswith("complex") else torch.unique(operand)
        for name, *arguments in SCANS:
            recorder.ask(name, operand, *arguments)
        recorder.ask("searchsorted", ordered, operand, False)
        variables = numbers(dtype, (3, 4))
        for weights in ((None, None), (COUNTS, None), (None, PARTS)):
            recorder.ask("cov", variables, 1, *weights)
        recorder.ask("corrcoef", variables)
        for accumulate in (False, True):
            items = [tensor([[1, 1, 1], [0, 3, 1]]), tensor([2, 2, 0])]
            recorder.ask("index_put_", operand, items, operand[1:3, :3], accumulate)
        for name in ("scatter_add_", "scatter_multiply_"):
            recorder.ask(name, operand, 0, tensor([[0] * 5, [2] * 5, [0] * 5]), operand)
    write_json("arrange.json", provenance("arrange.py"), {"cases": recorder.cases})


if __name__ == "__main__":
    main()
