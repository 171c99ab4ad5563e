"""Where elements lie: every function gives the same bits of the same elements, however they lie in memory.

`ZEROSTRIDE_LONG=1` tries every call in every layout, otherwise each call in one of them."""

import itertools
import os
import warnings

import numpy as np
import pytest
import zerostride as zs
from every import calls, values

# Long enough for every kind of loop: a reduction over more than a thousand elements adds up parts.
CASES = [("float32", (5, 1100)), ("float32", (70,)), ("float64", (12, 9, 4)), ("complex64", (20, 37)), ("float16", (3, 5)), ("int32", (37, 20))]
LAYOUTS = {
    "columns": lambda x: np.asfortranarray(x),
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "rows backwards": lambda x: x[::-1].copy()[::-1],
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "every third row": lambda x: np.repeat(x, 3, axis=0)[::3],
    "from the third on": lambda x: np.concatenate([x.reshape(-1)[:3], x.reshape(-1)])[3:].reshape(x.shape),
}
FORMS = [
    (), (0,), (-1,), (1,), ("again",), ("other",), ("turned",), ("row",), (0.5,), (2,), (0, 1), (2, 0), ("again", 0), ("other", -1), (0.25, -1), (3, 0),
    ("other", "row"), ("row", "other", "again"), ("places",), (0, "places"), ([1],), ("mask",), ("mask", 0.5), ("mask", "other"),
]  # fmt: skip
# What says how elements lie.
OF_LAYOUT = {"Tensor.stride", "Tensor.is_contiguous", "Tensor.storage_offset", "Tensor.as_strided", "Tensor.numpy", "Tensor.data_ptr"}


def outcome(function, array, lie, form):
    again = lambda scale: zs.asarray(lie((array * scale).astype(array.dtype)))
    x = again(1)
    named = {
        "again": lambda: again(1),
        "other": lambda: again(3),
        "turned": lambda: again(3).mT,
        "row": lambda: again(2)[:1] if array.ndim > 1 else again(2),
        "places": lambda: zs.zeros(*x.shape, dtype=zs.int64),
        "mask": lambda: zs.asarray(lie(np.asarray(array.real > 0))),
    }
    try:
        found = function(x, *(named[part]() if isinstance(part, str) else part for part in form))
    except Exception as error:
        return type(error).__name__
    return values(found), values(x)


VIEWS = {
    "as they are": lambda x: x, "turned": lambda x: x.permute(2, 0, 1), "columns": lambda x: x.T if x.ndim == 2 else x.mT,
    "stretched": lambda x: x[:1].expand(x.shape).transpose(0, 2), "every second": lambda x: x[:, ::2].permute(1, 2, 0), "rows": lambda x: x[0],
}  # fmt: skip
KEEPING = {
    "zeros_like": lambda m, x: m.zeros_like(x), "ones_like": lambda m, x: m.ones_like(x), "empty_like": lambda m, x: m.empty_like(x),
    "full_like": lambda m, x: m.full_like(x, 2.5), "int": lambda m, x: m.zeros_like(x, dtype=m.int64), "clone": lambda m, x: m.clone(x),
    "row-major": lambda m, x: m.zeros_like(x, memory_format=__import__("torch").contiguous_format),
    "softmax": lambda m, x: m.softmax(x, 0), "log_softmax": lambda m, x: m.log_softmax(x, -1), "softmax in f64": lambda m, x: x.softmax(1, m.float64),
    "after softmax": lambda m, x: m.softmax(x, 0) + x, "contiguous": lambda m, x: x.contiguous() + 1,
    "contiguous after": lambda m, x: (x * 2).contiguous(), "contiguous between": lambda m, x: (x * 2).contiguous().exp() + m.ones(()),
    "contiguous, then turned": lambda m, x: (x.contiguous() * 2).mT.exp(), "cloned": lambda m, x: x.clone(memory_format=__import__("torch").contiguous_format) * 2,
    "masked_fill": lambda m, x: x.masked_fill(x > 3, 0), "after masked_fill": lambda m, x: x.masked_fill(x > 3, 0) + x,
}  # fmt: skip
# Functions that a traced one cannot call.
MOVING = {
    "sort": lambda m, x: m.sort(x, 0)[0], "descending": lambda m, x: m.sort(x, -1, descending=True)[1], "argsort": lambda m, x: x.argsort(1 - x.ndim),
    "topk": lambda m, x: x.topk(1, 0)[0], "median": lambda m, x: x.median(0)[0], "tril": lambda m, x: x.tril(), "triu": lambda m, x: x.triu(1),
    "scatter": lambda m, x: x.scatter(0, m.zeros_like(x, dtype=m.int64)[:1], 5.0), "index_add": lambda m, x: x.index_add(0, m.tensor([0]), x[:1]),
    "scatter_add": lambda m, x: x.scatter_add(0, m.zeros_like(x, dtype=m.int64)[:1], x), "masked_scatter": lambda m, x: x.masked_scatter(x > 3, m.ones(24)),
    "index_put": lambda m, x: x.index_put((m.tensor([0]),), m.tensor(5.0)), "index_select": lambda m, x: x.index_select(0, m.tensor([0])),
}  # fmt: skip


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("fused", [False, True])
def test_results_lie_as_pytorchs(torch, name, fused):
    for lie in VIEWS.values():
        wanted = KEEPING[name](torch, lie(torch.arange(24.0).reshape(2, 3, 4)))
        run = lambda x: KEEPING[name](zs, x)
        found = (zs.fuse(run) if fused else run)(lie(zs.arange(24.0).reshape(2, 3, 4)))
        assert found.stride() == wanted.stride() and found.dtype.name == str(wanted.dtype).removeprefix("torch.")
        assert name == "empty_like" or np.allclose(found, wanted)


@pytest.mark.parametrize("name", MOVING)
def test_moved_elements_lie_as_pytorchs(torch, name):
    for lie in VIEWS.values():
        wanted = MOVING[name](torch, lie(torch.arange(24.0).reshape(2, 3, 4)))
        found = MOVING[name](zs, lie(zs.arange(24.0).reshape(2, 3, 4)))
        long = [dim for dim, size in enumerate(wanted.shape) if size > 1]
        assert [found.stride(dim) for dim in long] == [wanted.stride(dim) for dim in long]
        assert name in ("argsort", "descending") or np.allclose(found, wanted)


@pytest.mark.parametrize(("dtype", "shape"), CASES)
def test_every_function_gives_the_same_bits_in_every_layout(dtype, shape):
    random = np.random.default_rng(1)
    array = random.standard_normal(shape) * 3
    array = (array + 1j * random.standard_normal(shape) if dtype == "complex64" else array).astype(dtype)
    wrong, taken, layouts = [], set(), itertools.cycle(LAYOUTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in calls():
            is_method = name.startswith("Tensor.")
            if name in OF_LAYOUT or is_method and hasattr(zs, name.removeprefix("Tensor.")):
                continue
            for form in FORMS:
                wanted = outcome(function, array, lambda x: x, form)
                if isinstance(wanted, str):
                    continue
                taken.add(name)
                for layout in LAYOUTS if os.environ.get("ZEROSTRIDE_LONG") else [next(layouts)]:
                    found = outcome(function, array, LAYOUTS[layout], form)
                    if found != wanted:
                        wrong.append((name, form, layout, str(found)[:100], str(wanted)[:100]))
    assert not wrong, (len(wrong), wrong[:20])
    assert len(taken) > 250, len(taken)
