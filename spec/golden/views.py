"""Views, indexing, cat, stack and repeat: resulting shape, strides and offset, or the refusal.

Owns `errors.json`. Calls are data: a function's name, the operand's shape and strides, arguments.
"""

import torch

from operations import failure
from store import provenance, write_json

# Each line: the operand's shape, then the argument lists to try with it.
CALLS = {
    "expand": [
        ([2, 3], [[3, 3], [2, 3], [-1, 3], [4, 2, 3], [4, -1, -1], [-1, 2, 3], [3], [], [2, -2], [0, 3], [5, 2, 4]]),
        ([1, 3], [[4, 3], [4, -1], [-1, -1], [0, 3], [4, 1], [2, 4, 3], [-1, 4, 3]]),
        ([3, 1], [[3, 4], [2, 3, 4], [3, 0], [-1, 7], [1, 1]]),
        ([], [[], [1], [2, 3], [0], [-1]]),
        ([0], [[0], [3], [2, 0], [1]]),
        ([0, 3], [[0, 3], [1, 3], [2, 0, 3], [-1, 3]]),
        ([1], [[0], [5], [2, -1], [-1, 2]]),
    ],
    "broadcast_to": [([3], [[[2, 3]], [[3, 2]], [[-1, 3]], [[2, -1]]]), ([2, 3], [[[3]], [[4, 2, 3]]])],
    "expand_as": [([1, 3], [[{"shape": [2, 3]}], [{"shape": [3]}], [{"shape": [2, 4]}]])],
    "view_as": [
        ([2, 3], [[{"shape": [6]}], [{"shape": [3, 2]}], [{"shape": [4]}], [{"shape": []}]]),
        ({"shape": [3, 2], "strides": [1, 3]}, [[{"shape": [6]}], [{"shape": [3, 1, 2]}]]), ([0, 3], [[{"shape": [5, 0]}]]),
    ],
    "reshape_as": [
        ([2, 3], [[{"shape": [6]}], [{"shape": [3, 2]}], [{"shape": [4]}], [{"shape": []}]]),
        ({"shape": [3, 2], "strides": [1, 3]}, [[{"shape": [6]}], [{"shape": [3, 1, 2]}]]), ([0, 3], [[{"shape": [5, 0]}]]),
    ],
    "view": [
        ([2, 3], [[6], [3, 2], [-1], [2, -1], [-1, 2], [-1, 4], [4], [-1, -1], [2, 3, 1], [], [-2, 3], [0, -1], [1, 2, 3]]),
        ([0, 3], [[0], [-1], [3, 0], [0, -1], [-1, 3], [-1, 0], [5, 0]]),
        ([], [[], [1], [-1], [1, 1], [2]]),
        ({"shape": [3, 2], "strides": [1, 3]}, [[6], [3, 2], [2, 3], [3, 1, 2], [3, 2, 1]]),
        ({"shape": [2, 3, 4], "strides": [24, 4, 1]}, [[2, 12], [24], [6, 4], [2, 3, 2, 2]]),
        ({"shape": [4, 3], "strides": [0, 1]}, [[12], [2, 2, 3], [4, 3, 1]]),
    ],
    "reshape": [
        ([2, 3], [[6], [3, 2], [-1], [-1, 4], [4], [-1, -1], [], [5], [-2], [0, 6], [0, -1]]),
        ([0, 3], [[-1], [3, 0], [-1, 0], [-1, 3], [1]]),
        ({"shape": [3, 2], "strides": [1, 3]}, [[6], [2, 3], [3, 2]]),
        ([], [[1], [], [-1]]),
    ],
    "squeeze": [
        ([1, 3, 1], [[], [0], [1], [2], [-1], [-3], [3], [-4], [[0, 2]], [[0, 1]], [[0, 0]], [[0, 3]]]),
        ([], [[], [0], [-1], [1], [-2]]),
        ([0, 1], [[], [0], [1]]),
    ],
    "unsqueeze": [([2, 3], [[0], [1], [2], [-1], [-3], [3], [-4]]), ([], [[0], [-1], [1], [-2]])],
    "permute": [
        ([2, 3, 4], [[2, 0, 1], [0, 1, 2], [-1, 0, 1], [0, 1], [0, 0, 1], [0, 1, 3], [0, 1, -4], [0, 1, 2, 3], [0, 1, -2]]),
        ([], [[], [0]]),
    ],
    "transpose": [([2, 3, 4], [[0, 1], [-1, 0], [1, 1], [0, 3], [0, -4], [3, 0]]), ([], [[0, 0], [0, -1], [0, 1]])],
    "t": [([2, 3], [[]]), ([3], [[]]), ([], [[]]), ([2, 3, 4], [[]])],
    "movedim": [
        ([2, 3, 4], [[0, 2], [2, 0], [[0, 1], [1, 2]], [[0, 1], [2]], [0, 3], [[0, 0], [1, 2]], [[0, 1], [1, 1]], [-1, 0], [[0, 1, 2], [2, 1, 0]], [[], []], [-4, 0]]),
    ],
    "narrow": [
        ([4, 5], [[0, 1, 2], [1, 0, 5], [0, 3, 2], [0, -1, 1], [0, 0, -1], [0, 4, 0], [0, 5, 0], [0, -5, 1], [2, 0, 1], [-3, 0, 1], [1, -2, 2], [1, -2, 3], [0, 0, 0]]),
        ([], [[0, 0, 1], [0, 0, 0]]),
    ],
    "select": [([2, 3], [[0, 1], [1, -1], [0, 2], [0, -3], [2, 0], [-3, 0], [1, 3]]), ([], [[0, 0]]), ([0, 3], [[0, 0]])],
    "diagonal": [
        ([3, 4], [[], [1], [-1], [3], [4], [9], [-2], [-3], [-9], [0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 2], [0, -1, 0], [1, 1, 0]]),
        ([2, 3, 4], [[], [0, 1, 2], [1, 0, 2], [0, -2, -1], [-1, 2, 0]]),
        ([3], [[]]), ([], [[]]), ([0, 3], [[], [1]]),
    ],
    "unfold": [
        ([5], [[0, 2, 1], [0, 2, 2], [0, 5, 1], [0, 6, 1], [0, 0, 1], [0, 2, 0], [0, -1, 1], [0, 2, -1], [1, 2, 1], [-1, 3, 2], [0, 1, 7]]),
        ([3, 4], [[1, 2, 1], [0, 2, 1], [-2, 3, 1]]),
        ([], [[0, 1, 1], [0, 0, 1], [0, 2, 1], [-1, 1, 1]]), ([0], [[0, 0, 1], [0, 1, 1]]),
    ],
    "flatten": [
        ([2, 3, 4], [[], [1], [0, 1], [1, 2], [-2], [0, 0], [2, 1], [0, 3], [-4], [1, -1]]),
        ([], [[], [0, 0], [1]]), ([0, 3], [[], [1]]), ({"shape": [3, 2], "strides": [1, 3]}, [[]]),
    ],
    "unflatten": [([6, 2], [[0, [2, 3]], [0, [-1, 3]], [0, [4, 2]], [0, []], [2, [1, 2]], [-1, [1, 2]], [0, [-1, -1]]])],
    "repeat": [([2, 3], [[2, 2], [2], [1, 1, 1], [4, 2, 2], [0, 1], [-1, 2], []]), ([], [[3], [], [2, 2]]), ([0], [[2], [3, 1]])],
    "tile": [([2, 3], [[[2]], [[2, 2]], [[4, 2, 2]], [[]], [[0]], [[-1]]]), ([], [[[3]], [[]]])],
    "sum_to_size": [
        ([4, 5], [[3, 1], [4, 1], [5], [1], [], [1, 1], [4, 5], [1, 4, 5], [4, 4], [0], [-1]]),
        ([], [[], [1]]), ([0, 3], [[3], [1, 3], [0, 1], [0, 3]]),
    ],
    "swapaxes": [([2, 3], [[0, 1], [0, 2]])],
    "contiguous": [({"shape": [3, 2], "strides": [1, 3]}, [[]]), ({"shape": [4, 3], "strides": [0, 1]}, [[]])],
    "clone": [
        ({"shape": [3, 2], "strides": [1, 3]}, [[]]), ({"shape": [4, 3], "strides": [0, 1]}, [[]]),
        ({"shape": [2, 3], "strides": [6, 2]}, [[]]), ({"shape": [2, 3, 4], "strides": [12, 1, 3]}, [[]]),
    ],
    "item": [([2], [[]]), ([], [[]]), ([1, 1], [[]]), ([0], [[]])],
    "chunk": [([5], [[2], [6], [0], [1], [2, 1]]), ([0], [[3]])],
    "split": [([5], [[2], [5], [6], [0], [-1], [[2, 3]], [[2, 2]]])],
}  # fmt: skip
# Functions whose arguments are one list of sizes or dimensions.
ONE_LIST = {"expand", "view", "reshape", "permute", "repeat", "sum_to_size"}
# torch.FUNCTION(list of operands, *arguments).
LISTS = {
    "cat": [
        ([[2, 3], [2, 3]], [[0], [1], [-1], [2], [-3]]), ([[2, 3], [4, 3]], [[0], [1]]),
        ([[2, 3], [3]], [[0]]), ([[0], [2, 3]], [[0], [1]]), ([[2, 3], [0]], [[1]]), ([[], []], [[0]]),
        ([], [[0]]), ([[0, 3], [2, 3]], [[0], [1]]), ([[2], [0], [3]], [[0]]), ([[0], [0]], [[0]]),
        ([[2, 3], [2, 3], [2, 4]], [[0]]), ([[2, 3], [2, 3], [2, 4]], [[1]]), ([[]], [[0]]),
        ([[0, 2], [3]], [[0]]),
    ],
    "stack": [
        ([[2, 3], [2, 3]], [[0], [1], [2], [-1], [-3], [3], [-4]]), ([[2, 3], [3, 2]], [[0]]), ([], [[0]]),
        ([[], []], [[0], [-1], [1]]), ([[0], [0]], [[0], [1]]), ([[2], [2, 1]], [[0]]),
    ],
    "broadcast_tensors": [([[2, 1], [3]], [[]]), ([[2], [3]], [[]]), ([[2, 3], [3, 2]], [[]]), ([[], [0]], [[]]), ([[1, 3], [2, 1], [4]], [[]])],
}  # fmt: skip
# Indexing: integers, slices as {"slice": [start, stop, step]}, None, "...", and index tensors as
# {"index": nested list} or {"mask": nested list}.
INDEXES = [
    ([4, 5], [[1], [-1], [4], [-5], [1, 2], [1, 5], [0, 0, 0], [None], [None, 1], ["..."], ["...", 0], [0, "...", 0], ["...", "..."]]),
    ([4, 5], [[{"slice": s}] for s in ([1, 3, None], [None, None, 2], [3, 1, None], [-2, None, None], [0, 99, None], [-99, 2, None], [None, None, -1], [None, None, 0], [1, 4, 2], [4, 9, None])]),
    ([4, 5], [[{"slice": [None, None, None]}, None], [{"slice": [None, None, None]}, 2], [{"slice": [1, 3, 1]}, {"slice": [0, 5, 3]}], ["...", None], [None, "...", None]]),
    ([4, 5], [[{"index": [0, 2]}], [{"index": [[0], [1]]}], [{"index": [0, 1, 2]}, {"index": [0, 1]}], [{"index": [0, 1]}, {"index": [2, 3]}], [{"index": [4]}], [{"index": [-5]}], [{"index": [-1]}]]),
    ([4, 5], [[{"index": [[0], [1]]}, {"index": [0, 1, 2]}], [{"slice": [None, None, None]}, {"index": [0, 1]}], [{"index": [0, 1]}, None, {"index": [0, 1]}], [{"index": []}], [{"index": 2}]]),
    ([4, 5], [[{"mask": [True, False, True, True]}], [{"mask": [True, False]}], [{"mask": [True, False, True, True]}, {"index": [0, 1]}], [True], [False], [{"mask": [[True] * 5] * 4}], [{"mask": [[True] * 4] * 4}]]),
    ([2, 3, 4], [[{"index": [0, 1]}, {"slice": [None, None, None]}, {"index": [0, 1]}], [0, {"slice": [None, None, None]}, {"index": [0, 1]}], [{"slice": [None, None, None]}, {"index": [0, 1]}, {"index": [0, 3]}], [{"slice": [None, None, None]}, {"index": [0, 1, 2]}, {"index": [0, 3]}]]),
    ([], [[0], [None], ["..."], [], [True], [{"slice": [None, None, None]}]]),
    ([0], [[0], [{"slice": [None, None, None]}], [{"index": []}], [{"index": [0]}]]),
    ([3], [[1.5], ["a"], [{"float_index": [0.5]}], [0, 0], [2**63]]),
]  # fmt: skip


def operand(spec):
    """The tensor of a shape, or of a shape with strides, filled with 0, 1, 2, ... in storage order."""
    if isinstance(spec, list):
        size = 1
        for extent in spec:
            size *= extent
        return torch.arange(size, dtype=torch.float32).reshape(spec)
    shape, strides = spec["shape"], spec.get("strides")
    if strides is None:
        return operand(shape)
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    return torch.arange(span, dtype=torch.float32).as_strided(shape, strides)


def described(result, source):
    """Shape and strides; the offset where the result is a view of the source."""
    if isinstance(result, (tuple, list)):
        return [described(part, source) for part in result]
    if not isinstance(result, torch.Tensor):
        return {"value": result}
    # An empty storage has no address to compare, but autograd's bookkeeping knows a view's base.
    same = source is not None and (
        result._is_view()
        or result.untyped_storage().data_ptr() == source.untyped_storage().data_ptr() != 0
    )
    entry = {"shape": list(result.shape), "strides": list(result.stride())}
    entry["view"] = same
    if same:
        entry["offset"] = result.storage_offset()
    elif result.numel() <= 24:
        entry["values"] = result.flatten().tolist()
    return entry


def attempt(case, call, source):
    try:
        result = call()
    except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError) as error:
        entry = failure(error)
        if "invalid combination" in entry["text"]:
            entry["text"] = entry["text"].splitlines()[0]
        case["error"] = entry
    else:
        answer = described(result, source)
        case["result"] = answer
    return case


def argument(value):
    """An argument that may be a tensor of a given shape."""
    return operand(value) if isinstance(value, dict) else value


def indexer(items):
    """The Python index of a list of items."""
    decoded = []
    for item in items:
        if item == "...":
            decoded.append(Ellipsis)
        elif isinstance(item, dict) and "slice" in item:
            decoded.append(slice(*item["slice"]))
        elif isinstance(item, dict) and "mask" in item:
            decoded.append(torch.tensor(item["mask"], dtype=torch.bool))
        elif isinstance(item, dict) and "index" in item:
            decoded.append(torch.tensor(item["index"], dtype=torch.int64))
        elif isinstance(item, dict):
            decoded.append(torch.tensor(item["float_index"]))
        else:
            decoded.append(item)
    return tuple(decoded)


def main():
    calls, lists, indexes = [], [], []
    for name, groups in CALLS.items():
        for spec, argument_lists in groups:
            for arguments in argument_lists:
                x = operand(spec)
                case = {"fn": name, "shape": list(x.shape)}
                if isinstance(spec, dict):
                    case["strides"] = spec["strides"]
                case["args"] = arguments
                if name in ONE_LIST:
                    call = lambda: getattr(x, name)(arguments)  # noqa: E731
                else:
                    call = lambda: getattr(x, name)(*map(argument, arguments))  # noqa: E731
                calls.append(attempt(case, call, x))
    for name, groups in LISTS.items():
        for shapes, argument_lists in groups:
            for arguments in argument_lists:
                operands = [operand(shape) for shape in shapes]
                case = {"fn": name, "shapes": shapes, "args": arguments}
                if name == "broadcast_tensors":
                    call = lambda: torch.broadcast_tensors(*operands)  # noqa: E731
                else:
                    call = lambda: getattr(torch, name)(operands, *arguments)  # noqa: E731
                lists.append(attempt(case, call, None))
    for shape, every in INDEXES:
        for items in every:
            x = operand(shape)
            indexes.append(attempt({"shape": shape, "index": items}, lambda: x[indexer(items)], x))
    write_json(
        "errors.json",
        provenance("views.py"),
        {"calls": calls, "lists": lists, "indexes": indexes},
    )


if __name__ == "__main__":
    main()
