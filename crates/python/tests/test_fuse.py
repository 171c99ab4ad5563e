"""fuse and evaluate: one pass, the same bits, the caller's kind of arrays."""

import collections
import gc
import pickle
import re

import numpy as np
import pytest
import zerostride as zs


@zs.fuse(rules="torch")
def standardised(x, eps=1e-5):
    """(x - mean) / std"""
    return (x - x.mean(0, keepdim=True)) / (x.std(0, keepdim=True) + eps)


def test_fused_is_eager_bit_for_bit_in_every_layout():
    x = np.random.default_rng(0).normal(size=(40, 30))
    for view in (x, x.T, x[::-1, ::2], x[:1], x[:0]):
        if view.shape[0] > 1:
            fused = standardised(zs.asarray(view))
            eager = standardised.__wrapped__(zs.asarray(view))
            assert fused.tolist() == eager.tolist()
    assert standardised(x).flags.c_contiguous


def test_results_are_arrays_of_the_caller_s_library():
    f = zs.fuse(lambda a, b: a * b + 1)
    x = np.ones((2, 3), "f4")
    assert type(f(x, 2)) is np.ndarray
    assert type(f(zs.asarray(x), x)) is zs.Tensor
    assert f(x, 2).dtype == np.float32


def test_torch_in_torch_out(torch):
    f = zs.fuse(lambda a, b: (a - b).square().mean())
    result = f(torch.ones(3), np.zeros(3, "f4"))
    assert isinstance(result, torch.Tensor)
    assert result.item() == 1
    g = zs.fuse(lambda a: torch.exp(a) + np.sin(a))
    x = torch.linspace(0, 1, 5)
    torch.testing.assert_close(g(x), torch.exp(x) + torch.sin(x))


def test_it_is_traced_once_for_each_signature():
    calls = []

    @zs.fuse
    def f(a, b, scale=1):
        calls.append((a.shape, scale))
        return a + b * scale

    x, y = np.ones((2, 1)), np.ones(3)
    for _ in range(3):
        f(x, y)
        f(x, y, scale=2)
        f(y, y)
        f(y.copy(), y)
    assert calls == [((2, 1), 1), ((2, 1), 2), ((3,), 1), ((3,), 1)]
    assert (f(y, y) == 2).all()
    assert (f(y, 2 * y) == 3).all()


def test_several_outputs_keep_their_form():
    @zs.fuse
    def f(a):
        return {"sum": a.sum(), "parts": (a + 1, [a * 2])}

    result = f(np.arange(3))
    assert result["sum"] == 3
    assert result["parts"][0].tolist() == [1, 2, 3]
    assert result["parts"][1][0].tolist() == [0, 2, 4]


def test_several_outputs_are_written_to_as_many_arrays():
    x = np.arange(6.0).reshape(2, 3)
    sums, doubled = np.zeros(3), np.zeros((2, 3), np.float32)
    out = {"sums": sums, "more": [doubled]}
    assert zs.evaluate(lambda x: {"sums": x.sum(0), "more": (x * 2,)}, out, x=x) is out
    np.testing.assert_array_equal(sums, x.sum(0))
    np.testing.assert_array_equal(doubled, x * 2)
    # Operands may be written to: all results are computed first.
    a, b = np.ones(2), np.zeros(2)
    zs.evaluate(lambda a, b: (b, a), (a, b), a=a, b=b)
    assert (a.tolist(), b.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    wrong = [
        (sums, "out has not the form of the result: one array for a tuple of 2"),
        ((sums,), "a tuple of 1 for a tuple of 2"),
        ({"a": sums, "b": doubled}, "a dict with the keys"),
        ("y.npy", "out has not the form of the result: one file for a tuple of 2"),
        ((sums, np.zeros(2)), "output with shape \\[2\\] doesn't match the broadcast shape \\[2, 3\\]"),
        ((sums, np.zeros((2, 3), np.int64)), "can't be cast"),
    ]
    for out, message in wrong:
        sums[:] = 7
        with pytest.raises((TypeError, RuntimeError), match=message):
            zs.evaluate(lambda x: (x.sum(0), x * 2), out, x=x)
        assert sums.tolist() == [7, 7, 7], "nothing is written unless all is"


def test_what_several_outputs_share_is_computed_once():
    @zs.fuse
    def both(a, b):
        kernel = (-((a[:, None] - b) ** 2).sum(-1)).exp()
        return kernel.sum(0), kernel.sum(1)

    a, b = (np.random.default_rng(seed).random((n, 3), "f4") for seed, n in [(1, 2000), (2, 1500)])
    plan = both.plan(a, b)
    assert "2 results" in plan
    assert int(plan.rsplit("scratch at most ", 1)[1].split()[0]) < 1 << 22
    columns, rows = both(a, b)
    alone = [zs.fuse(lambda a, b, dim=dim: (-((a[:, None] - b) ** 2).sum(-1)).exp().sum(dim)) for dim in (0, 1)]
    np.testing.assert_array_equal(columns, alone[0](a, b))
    np.testing.assert_array_equal(rows, alone[1](a, b))

    exp = zs.fuse(lambda a: (a.exp(), a.exp() * 2, a, 3))
    assert exp.plan(a).count("exp x") == 2
    shared = zs.fuse(lambda a: (lambda e: (e, e * 2, e))(a.exp()))
    assert shared.plan(a).count("exp x") == 1
    first, twice, again = shared(a)
    assert first is again
    np.testing.assert_array_equal(twice, 2 * first)


def test_what_is_taken_from_outside_is_read_anew():
    weight = zs.ones(3)
    f = zs.fuse(lambda x: x * weight)
    assert f(zs.ones(3)).tolist() == [1, 1, 1]
    weight.fill_(5)
    assert f(zs.ones(3)).tolist() == [5, 5, 5]


def test_the_stretched_array_never_exists():
    f = zs.fuse(lambda a, b: ((a[:, None] - b) ** 2).sum(-1))
    a = np.ones((3000, 8), "f4")
    plan = f.plan(a, a)
    assert "3000, 3000]" in plan
    assert int(plan.rsplit("scratch at most ", 1)[1].split()[0]) < 1 << 22


@pytest.mark.parametrize(
    "function, text",
    [
        (lambda a: a if a.sum() > 0 else -a, "where"),
        (lambda a: float(a.sum()) * a, "0-d array"),
        (lambda a: np.asarray(a), "functions of zerostride"),
        (lambda a: a.add_(1), "use add()"),
        (lambda a: a.__setitem__(0, 1), "use where"),
        (lambda a: "text", "returns arrays"),
        (lambda a: [1, 2][a], "as an integer"),
        (lambda a: zs.cat([a, a]), "cat() needs the elements of a, which a traced function does not know yet: return the parts"),
        (lambda a: zs.cumsum(a * 2, 0), "cumsum() needs the elements of a * 2, which a traced function does not know yet: call it outside"),
        (lambda a: np.cumsum(a, 0), "cumsum() needs the elements of a"),
        (lambda a: zs.diff(a), "x[1:] - x[:-1]"),
        (lambda a: a[[0, 2]], "an index tensor picks elements of a, which a traced function does not know yet: index outside"),
        (lambda a: a.exp()[np.array([True, False, True])], "picks elements of exp(a)"),
        (lambda a: a[a > 1], "an index is elements of a > 1, which a traced function does not know yet: index outside"),
    ],
)
def test_what_cannot_be_traced_is_said(function, text):
    for made in [zs.fuse, zs.grad][: 1 if text == "returns arrays" else 2]:
        with pytest.raises(zs.TraceError, match=re.escape(text)):
            made(function)(np.ones(3))


def test_what_cannot_be_traced_is_said_with_the_names_of_the_function():
    def middle(price, amount, *others, weight):
        return zs.median(price * weight - amount * others[0])

    x = zs.ones(3)
    with pytest.raises(zs.TraceError, match="median\\(\\) needs the elements of price \\* weight - \\(amount \\* a\\)|price \\* weight\\) - "):
        zs.fuse(middle)(x, x + 1, x + 2, weight=x + 3)
    with pytest.raises(zs.TraceError, match="elements of price"):
        zs.fuse(lambda price: price[zs.tensor([0])])(x)
    with pytest.raises(zs.TraceError, match="elements of price \\* amount"):
        zs.evaluate("median(price * amount)", price=x, amount=x + 1)


def test_a_copy_is_one_in_a_function_that_is_traced_in_each_call():
    outside, x = [zs.ones(2)], zs.zeros(3)
    copy = zs.fuse(lambda x: (outside, x.clone())[1])
    copy(x).add_(1)
    with zs.audit():
        zs.fuse(lambda x: x[1:])(x).add_(1)
    assert x.tolist() == [0, 0, 0]


def test_only_elements_that_results_need_are_divided():
    def quotients(a, b):
        return (a // b)[:2]

    a, b = zs.tensor([1, 2, 3]), zs.tensor([1, 1, 0])
    assert zs.fuse(quotients)(a, b).tolist() == [1, 2]
    for call in (lambda: quotients(a, b), lambda: zs.fuse(quotients)(a, b[1:].repeat(2)[:3])):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call()


def test_errors_come_from_the_line_that_makes_them():
    @zs.fuse
    def f(a, b):
        c = a * 2
        return c + b

    with pytest.raises(zs.BroadcastError) as caught:
        f(np.ones(3), np.ones(2))
    assert str(caught.traceback[-1].statement).strip() == "return c + b"


def test_a_method_of_a_class_may_be_fused():
    class Model:
        scale = 3

        @zs.fuse
        def run(self, x):
            return x * self.scale

    assert Model().run(np.ones(2)).tolist() == [3, 3]
    other = Model()
    other.scale = 5
    assert other.run(np.ones(2)).tolist() == [5, 5]


Pair = collections.namedtuple("Pair", "one other")


@pytest.mark.parametrize(
    "several",
    [[np.ones(2), 2], (np.ones(2), 2), {0: np.ones(2), 1: 2}, Pair(np.ones(2), 2), [[np.ones(2)], 2], ({"a": (np.ones(2),)}, 2)],
)
def test_arrays_may_stand_in_structures(several):
    def first(value):
        while isinstance(value, (tuple, list, dict)):
            value = value["a"] if isinstance(value, dict) and "a" in value else value[0]
        return value

    types = []

    @zs.fuse
    def function(x, given):
        types.append(type(given).__name__)
        return {"sum": x * first(given) + given[1], "given": given}

    for _ in range(3):
        result = function(np.ones(2), several)
        assert result["sum"].tolist() == [3, 3] and type(result["given"]) is type(several)
        assert first(result["given"]) is first(several)
    assert types == [type(several).__name__]  # traced once
    assert function(x=np.ones(2), given=several)["sum"].tolist() == [3, 3]


def test_structures_are_told_in_errors_and_read_from_outside():
    scale = 3
    function = zs.fuse(lambda p, x: x * p["w"] * scale)
    assert function({"w": np.ones(2)}, np.ones(2)).tolist() == [3, 3]
    scale = 5
    assert function({"w": np.ones(2)}, np.ones(2)).tolist() == [5, 5]
    with pytest.raises(zs.TraceError, match=r"needs the elements of p\['w'\]\[1\]"):
        zs.fuse(lambda p: p["w"][1].cumsum(0))({"w": [np.ones(2), np.ones(2)]})
    # Inside of a function that is traced, too.
    outer = zs.fuse(lambda x: function({"w": x + 1}, x))
    assert outer(np.ones(2)).tolist() == [10, 10]
    # A tuple of sizes is none.
    assert zs.fuse(lambda x, shape: x.reshape(shape))(np.ones(2), (1, 2)).shape == (1, 2)
    many = zs.fuse(lambda p: sum(p))
    endless = [np.ones(2)]
    endless.append(endless)
    with pytest.raises(TypeError, match="one by one"):
        zs.fuse(lambda p: p[0])(endless)
    for count in range(1, 200):
        assert many([np.ones(1)] * count).tolist() == [count]
    assert len(many._of_leaves) <= 64


def test_what_takes_arrays_one_by_one_says_so():
    function = zs.fuse(lambda p: p[0] * 2)
    with pytest.raises(TypeError, match="one by one, not in a list"):
        function.plan([np.ones(2)])
    with pytest.raises(TypeError, match="one by one, not in a list"):
        function.plan([[np.ones(2)]])
    for call in (lambda: zs.vjp(function, [np.ones(2)]), lambda: zs.jvp(function, ([np.ones(2)],), ([np.ones(2)],))):
        with pytest.raises(TypeError, match="takes arrays one by one, not in a list"):
            call()


def test_fused_functions_pickle_by_name():
    assert pickle.loads(pickle.dumps(standardised)) is standardised
    assert standardised.__doc__ == "(x - mean) / std"


def test_evaluate():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(zs.evaluate("a*x + b", a=2, x=x, b=np.ones(3)), 2 * x + 1)
    np.testing.assert_array_equal(zs.evaluate("where(x > 2, x, 0).sum(-1)", x=x), [0, 12])
    np.testing.assert_array_equal(zs.evaluate("x[:, None, ::-1].T @ x[0]", x=x[:2, :2]), (x[:2, :2][:, None, ::-1].T @ x[0, :2]))
    out = np.zeros((2, 3), "f4")
    assert zs.evaluate("sin(pi * x)", out=out, x=x) is out
    np.testing.assert_allclose(out, np.sin(np.pi * x), atol=1e-6)


@pytest.mark.parametrize(
    "expression, text",
    [
        ("__import__('os')", "__import__"),
        ("x.__class__", "__class__"),
        ("x.numpy()", "numpy"),
        ("x if x else 0", "write where"),
        ("[y for y in x]", "y for y in x"),
        ("(lambda: x)()", "`lambda: x`"),
        ("0 < x < 1", "chain"),
        ("x and x", "write & and"),
        ("not x", "`not x`"),
        ("y + 1", "`y` has no value"),
        ("x.add_(1)", "add_"),
        ("f'{x}'", "no meaning"),
        ("x +", "invalid syntax"),
    ],
)
def test_nothing_else_runs(expression, text):
    with pytest.raises((SyntaxError, zs.TraceError), match=text):
        zs.evaluate(expression, x=np.ones(2))


def test_formulas_may_return_tuples_with_names():
    # Their classes are imported where they are needed, in a formula too.
    found = zs.evaluate("x.max(1)", x=np.eye(2))
    assert [part.tolist() for part in found] == [[1, 1], [0, 1]]
    with pytest.raises(TypeError, match="a formula is a string, a function, or"):
        zs.evaluate(3)


@pytest.mark.parametrize("make", [zs.fuse, zs.grad, zs.fuse(abs).__class__.__base__])
def test_the_garbage_collector_may_run_while_a_function_is_made(make):
    before, kept = gc.get_threshold(), []
    gc.set_threshold(1)
    try:
        for _ in range(50):
            kept += [{} for _ in range(100)]  # No dict is free: a new one is allocated, which the collector sees.
            kept.append(make(abs))
    finally:
        gc.set_threshold(*before)
