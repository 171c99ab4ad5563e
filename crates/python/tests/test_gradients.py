"""Gradients: of functions, and of fused functions in torch's graph."""

import pathlib
import pickle
import re
import threading

import numpy as np
import pytest
import zerostride as zs


def loss(w, b, x, y):
    return ((x @ w + b - y) ** 2).mean()


def data():
    choose = np.random.default_rng(0)
    return choose.normal(size=3), choose.normal(size=()), choose.normal(size=(20, 3)), choose.normal(size=20)


def by_differences(function, arguments, argnum, eps=1e-6):
    """The gradient by central differences."""
    argument = arguments[argnum]
    gradient = np.empty_like(argument)
    for place in np.ndindex(argument.shape):
        values = []
        for step in (eps, -eps):
            moved = argument.copy()
            moved[place] += step
            values.append(float(function(*arguments[:argnum], moved, *arguments[argnum + 1 :])))
        gradient[place] = (values[0] - values[1]) / (2 * eps)
    return gradient


def test_gradients_are_those_of_differences():
    arguments = data()
    gradients = zs.grad(loss, argnums=(0, 1, 2, 3))(*arguments)
    for argnum, gradient in enumerate(gradients):
        assert gradient.shape == arguments[argnum].shape and gradient.dtype == np.float64
        np.testing.assert_allclose(gradient, by_differences(loss, arguments, argnum), rtol=1e-3, atol=1e-5)
    assert type(gradients[0]) is np.ndarray
    np.testing.assert_array_equal(zs.grad(loss, -3)(*arguments), gradients[1])


def test_value_and_grad_gives_both():
    arguments = data()
    value, gradient = zs.value_and_grad(loss)(*arguments)
    np.testing.assert_allclose(value, loss(*arguments))
    np.testing.assert_array_equal(gradient, zs.grad(loss)(*arguments))


def test_gradients_of_pairs_hold_no_table():
    def energy(p, q):
        return (-((p[:, None] - q) ** 2).sum(-1)).exp().sum()

    p, q = np.random.default_rng(1).normal(size=(2, 30, 3))
    for argnum in (0, 1):
        gradient = zs.grad(energy, argnum)(p, q)
        np.testing.assert_allclose(gradient, by_differences(zs.fuse(energy), (p, q), argnum), rtol=1e-3, atol=1e-5)
    assert "pass" in zs.grad(energy).plan(p, q)


def test_gradients_of_gradients():
    cubed = zs.grad(lambda x: (x**3).sum())
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(cubed(x), 3 * x**2)
    np.testing.assert_allclose(zs.grad(lambda x: cubed(x).sum())(x), 6 * x)
    third = zs.grad(zs.grad(zs.grad(lambda x: x**4)))
    np.testing.assert_allclose(third(np.array(2.0)), 48.0)


def test_a_function_is_traced_once_for_each_signature():
    traced = []

    def square(x):
        traced.append(x.shape)
        return (x * x).sum()

    gradient = zs.grad(square)
    for size in (3, 3, 4):
        gradient(np.ones(size))
    value, pullback = zs.vjp(zs.fuse(square), np.ones(2))
    pullback(np.array(2.0)), pullback(np.array(3.0))
    assert len(traced) <= 5


def test_vjp_takes_cotangents_of_several_results():
    def parts(x, scale, count):
        return {"scaled": x * scale, "more": [x.sum(), (x > 1).sum()], "count": count}

    x, scale = np.array([1.0, 2.0]), np.array([[3.0], [4.0]])
    value, pullback = zs.vjp(parts, x, scale, 7)
    np.testing.assert_array_equal(value["scaled"], x * scale)
    found = pullback({"scaled": np.ones((2, 2)), "more": (np.array(10.0), None), "count": None})
    np.testing.assert_array_equal(found[0], [17.0, 17.0])
    np.testing.assert_array_equal(found[1], [[3.0], [3.0]])
    assert found[2] is None
    with pytest.raises(TypeError, match="so must be its cotangent"):
        pullback([np.ones((2, 2))])
    with pytest.raises(RuntimeError, match="the cotangent has shape"):
        pullback({"scaled": np.ones(2), "more": (np.array(10.0), None), "count": None})


def test_jvp_is_the_derivative_in_a_direction():
    def parts(x, scale, count):
        return {"scaled": (x * scale).exp(), "more": [x.sum(), (x > 1).sum()], "count": count}

    x, scale = np.array([1.0, 2.0]), np.array([[3.0], [0.5]])
    value, tangent = zs.jvp(parts, (x, scale, 7), (np.array([1.0, -1.0]), np.array([[2.0], [0.0]]), None))
    np.testing.assert_array_equal(value["scaled"], np.exp(x * scale))
    assert list(tangent) == ["scaled", "more", "count"] and tangent["count"] is tangent["more"][1] is None
    np.testing.assert_allclose(tangent["scaled"], np.exp(x * scale) * [[5.0, 1.0], [0.5, -0.5]], rtol=1e-12)
    assert tangent["more"][0] == 0.0
    # Each column of a Jacobian matrix, beside its rows.
    matrix = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    function = zs.fuse(lambda w: (matrix @ w).tanh() / w.sum())
    w = np.array([0.1, 0.2, 0.3])
    pull = zs.vjp(function, w)[1]
    rows = np.stack([pull(row)[0] for row in np.eye(2)])
    columns = np.stack([zs.jvp(function, [w], [column])[1] for column in np.eye(3)], axis=1)
    np.testing.assert_allclose(columns, rows, rtol=1e-12)
    # The derivative of a gradient: a Hessian matrix times a vector.
    gradient = zs.grad(lambda w: (w**3).sum())
    np.testing.assert_allclose(zs.jvp(gradient, (w,), (np.ones(3),))[1], 6 * w, rtol=1e-12)
    with pytest.raises(TypeError, match="one tangent belongs to each primal"):
        zs.jvp(function, (w,), ())
    with pytest.raises(RuntimeError, match=re.escape("tangent 0 has shape [2]; the argument that it belongs to has shape [3]")):
        zs.jvp(function, (w,), (np.ones(2),))


def test_arguments_that_are_one_array_have_gradients_of_their_own():
    x = np.array([1.0, 2.0])
    first, second = zs.grad(lambda a, b: (a * a * b).sum(), (0, 1))(x, x)
    np.testing.assert_array_equal(first, 2 * x * x)
    np.testing.assert_array_equal(second, x * x)
    np.testing.assert_array_equal(zs.grad(lambda a, b: (b * b).sum())(x, x), [0.0, 0.0])


def test_numbers_are_arrays_without_dimensions():
    assert zs.grad(lambda x: x**3)(2.0) == 12.0
    assert zs.grad(lambda x, n: x * n, (0, -1))(2.0, 3.0) == (3.0, 2.0)
    assert zs.value_and_grad(lambda x, n: x**n)(3.0, 2)[1] == 6.0


def test_constants_have_no_gradient():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(zs.grad(lambda x: (x * x.detach()).sum())(x), x)


@pytest.mark.parametrize(
    ("function", "arguments", "error", "match"),
    [
        (lambda x: x * 2, [np.ones(3)], RuntimeError, "has shape \\[3\\]: reduce it"),
        (lambda x: x.sum(), [np.ones(3, int)], RuntimeError, "dtype i64"),
        (lambda x, y: (x * y).sum(), [np.arange(3), np.ones(3)], RuntimeError, "only floating-point and complex"),
        (lambda x: (x > 0).float().sum(), [np.ones(3)], RuntimeError, "jumps"),
        (lambda x: zs.heaviside(x, x).sum(), [np.ones(3)], RuntimeError, "heaviside\\(\\) has no derivative"),
        (lambda x: (x.sum(), x.sum()), [np.ones(3)], TypeError, "returns a tuple"),
        (lambda x: np.ones(3).sum() * 2, ["2.0"], TypeError, "argument 0 is a str"),
        (lambda n: n * 2.0, [3], RuntimeError, "dtype i64"),
        (lambda: zs.ones(()), [], IndexError, "counts positional arguments: it has 0, and the function is called with 0"),
    ],
)
def test_what_has_no_gradient_is_refused(function, arguments, error, match):
    with pytest.raises(error, match=match):
        zs.grad(function)(*arguments)


TIES = {
    "max of a dim": (lambda x: x.max(0)[0].sum(), 1), "min of a dim": (lambda x: x.min(-1, keepdim=True)[0].sum(), 1), "max": (lambda x: x.max(), 1),
    "amax": (lambda x: x.amax(0).sum(), 1), "clamp": (lambda x, a, b: (x.clamp(a, b) * 2).sum(), 3), "clamp to numbers": (lambda x: x.clamp(1, 2).sum(), 1),
    "clamp to one number": (lambda x: x.clamp(1, 1).sum(), 1), "clamp from below": (lambda x, a: x.clamp(a).sum(), 2),
    "clamp from above": (lambda x, b: x.clamp(max=b).sum(), 2), "stretched bounds": (lambda x, a, b: x[:, None].clamp(a[:, None], b).square().sum(), 3),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("name", TIES)
def test_where_elements_are_equal_gradients_are_pytorchs(torch, name, dtype):
    function, count = TIES[name]
    found = [0.0, 1.0, 2.0, float("nan")] if count > 1 else [1.0, 2.0, 2.0, 0.0, 0.0]
    operands = np.stack([np.ravel(operand) for operand in np.meshgrid(*[found] * count)]).astype(dtype)
    if "bounds" in name:
        operands = operands[:, ~np.isnan(operands).any(0)]
    tensors = [torch.tensor(operand, requires_grad=True) for operand in operands]
    wanted = torch.autograd.grad(function(*tensors), tensors)
    for one, other in zip(zs.grad(function, tuple(range(count)))(*map(zs.tensor, operands)), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_first_of_equal_extremes_has_the_gradient():
    def largest(x):
        return x.max(1).values.sum()

    x = zs.tensor([[1.0, 3.0, 3.0], [float("nan"), 2.0, float("nan")]])
    assert zs.grad(largest)(x).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert zs.grad(lambda x: x.max(0).values)(zs.tensor(2.0)).item() == 1
    twice = zs.grad(lambda x: (zs.grad(lambda x: (x.max(0).values ** 2).sum())(x) ** 2).sum())
    assert twice(zs.tensor([1.0, 3.0, 3.0])).tolist() == [0, 24, 0]


def test_argnums_is_a_place_or_places():
    for argnums in ("x", None, [0.5], ("x",)):
        with pytest.raises(TypeError, match="argnums is the place of a positional argument, or a tuple of places, not"):
            zs.grad(lambda x: x.sum(), argnums)


def test_a_refusal_names_the_expression():
    with pytest.raises(RuntimeError) as caught:
        zs.grad(lambda x: zs.heaviside(x * 2, x).sum())(np.ones(3))
    assert "heaviside(a * 2" in "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_policies_see_forward_alone():
    def centred(x, m):
        return ((x - m) ** 2).sum()

    x, m = np.ones((4, 3)), np.ones(3)
    with zs.audit() as log:
        zs.grad(centred, (0, 1))(x, m)
    assert [record.op for record in log.records] == ["sub"]
    with zs.policy(rank_added="error"), pytest.raises(zs.BroadcastError):
        zs.grad(centred)(x, m)
    with zs.audit() as log:
        value, pullback = zs.vjp(centred, x, m)
        pullback(np.array(1.0))
    assert [record.op for record in log.records] == ["sub"]


def test_gradients_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(of_module))(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]


@zs.grad
def of_module(x):
    return (x * x).sum()


def test_gradients_run_on_threads():
    gradient, x = zs.grad(lambda x: (x**2).sum()), np.arange(100.0)
    found = []
    threads = [threading.Thread(target=lambda: found.append(gradient(x))) for _ in range(8)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert all(np.array_equal(one, 2 * x) for one in found) and len(found) == 8


FUSED = {
    "pairs": (lambda p, q: (-((p[:, None] - q) ** 2).sum(-1)).exp().sum(1), [(4, 2), (3, 2)]),
    "normalised": (lambda x, m, s, g, b: (x - m) / (s * s + 1) * g + b, [(3, 4), (4,), (4,), (4,), (4,)]),
    "softmax": (lambda x: x.softmax(-1), [(3, 4)]),
    "several": (lambda x, y: (x.sin() * y, [x.std(0), y.logsumexp(0)]), [(3, 2), (3, 1)]),
    "matmul": (lambda x, y: (x @ y).tanh(), [(2, 3), (3, 2)]),
    "views": (lambda x: x[1:].T * x[:-1, 1:2] + x.flip(0)[::2].sum(), [(4, 3)]),
}


# Torch's own forward mode warns of what it calls itself.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:FutureWarning")
@pytest.mark.parametrize("name", FUSED)
def test_fused_functions_are_nodes_of_torch_s_graph(torch, name):
    function, shapes = FUSED[name]
    fused = zs.fuse(function)
    choose = torch.Generator().manual_seed(0)
    arguments = [torch.randn(shape, generator=choose, dtype=torch.float64, requires_grad=True) for shape in shapes]

    def flat(*arguments):
        result = fused(*arguments)
        return tuple([result[0], *result[1]]) if name == "several" else result

    forward = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(flat, arguments, **forward)
    assert torch.autograd.gradgradcheck(flat, arguments, check_batched_grad=True, check_fwd_over_rev=True)


def test_losses_go_backward(torch):
    w, x = torch.ones(3, requires_grad=True), torch.arange(6.0).reshape(2, 3)
    fused = zs.fuse(lambda x, *, w: ((x * w).sum(-1) ** 2).mean())
    fused(x, w=w).backward()
    expected = torch.autograd.grad(((x * w).sum(-1) ** 2).mean(), w)[0]
    torch.testing.assert_close(w.grad, expected)
    assert x.grad is None
    with torch.no_grad():
        assert not fused(x, w=w).requires_grad
    assert fused(x, w=w).requires_grad
    first = torch.autograd.grad(fused(x, w=w), w, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), w)[0]
    torch.testing.assert_close(second, torch.autograd.functional.hessian(lambda w: ((x * w).sum(-1) ** 2).mean(), w).sum(0))


def test_functions_of_torch_func_differentiate_fused_ones(torch):
    def kernel(x, w):
        return (x @ w).tanh().sum()

    x, w = torch.arange(6.0).reshape(2, 3) / 6, torch.ones(3)
    found = torch.func.grad(zs.fuse(kernel), argnums=(0, 1))(x, w)
    torch.testing.assert_close(found, torch.func.grad(kernel, argnums=(0, 1))(x, w))


def test_an_argument_changed_before_backward_is_an_error(torch):
    w = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    result = zs.fuse(lambda w, x: (w * w * x).sum())(w, x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()


def test_grad_of_torch_s_tensors_gives_torch_s(torch):
    x = torch.arange(3.0)
    gradient = zs.grad(lambda x: (x**2).sum())(x)
    assert isinstance(gradient, torch.Tensor) and gradient.tolist() == [0.0, 2.0, 4.0]
    x.requires_grad_()
    gradient = zs.grad(lambda x: (x**3).sum())(x)
    assert torch.autograd.grad(gradient.sum(), x)[0].tolist() == [0.0, 6.0, 12.0]


def test_whole_numbers_beside_have_no_gradient(torch):
    x, n = torch.ones(3, requires_grad=True), torch.arange(3)
    scaled, count = zs.fuse(lambda x, n: (x * n, (n > 0).sum()))(x, n)
    assert not count.requires_grad
    scaled.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 2.0]


def test_the_guide_s_regression_learns_as_in_pytorch(monkeypatch):
    root = pathlib.Path(__file__).resolve().parents[3]
    text = (root / "docs" / "python" / "gradients.md").read_text()
    code = re.findall(r"```py\n(.*?)```", text, re.S)[-1]
    monkeypatch.chdir(root)
    names = {"np": np, "zs": zs}
    exec(code.replace("range(200)", "range(101)"), names)
    np.testing.assert_allclose(names["loss"], 0.349532614, rtol=1e-8)


def test_the_guide_s_node_of_torch_s_graph_runs(torch):
    text = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "python" / "gradients.md").read_text()
    names = {"zs": zs}
    exec(re.findall(r"```py\n(.*?)```", text, re.S)[0], names)
    assert names["p"].grad.shape == (500, 3)


def test_what_is_masked_away_has_no_gradient():
    # PyTorch's answer: at b = 0 the logarithm is infinite, and counts 0 times.
    masked = zs.grad(lambda c, b: zs.where(b > 0, zs.xlogy(c, b), c).sum())
    assert masked(zs.tensor([2.0, 1.0]), zs.tensor([0.0, 1.0])).tolist() == [1.0, 0.0]


def test_the_gradient_of_a_structure_has_its_form():
    x, y = np.arange(6.0).reshape(3, 2), np.ones(3)
    w, b = np.array([0.5, -1.0]), np.array(2.0)

    def loss(w, b, x, y):
        return ((x @ w + b - y) ** 2).mean()

    expected = zs.grad(loss, (0, 1))(w, b, x, y)
    in_dict = zs.value_and_grad(lambda p, x, y: loss(p["w"], p["b"], x, y))
    value, found = in_dict({"w": w, "b": b, "name": "linear", "steps": np.arange(2)}, x, y)
    assert value == loss(w, b, x, y) and list(found) == ["w", "b", "name", "steps"]
    assert found["name"] is None and found["steps"] is None
    assert [found["w"].tolist(), found["b"].tolist()] == [one.tolist() for one in expected]
    layers = zs.grad(lambda layers, x: sum((x @ w + b).sum() for w, b in layers))
    ((dw, db),) = layers([(w, b)], x)
    assert dw.tolist() == x.sum(0).tolist() and db == 3
    # Beside other arguments, of which some are numbers; and of a gradient.
    both = zs.grad(lambda p, k: (p[0] * k).sum(), argnums=(0, -1))((w,), 2.0)
    assert both[0][0].tolist() == [2, 2] and both[1] == w.sum()
    last = zs.grad(lambda p, x, k: (p[0] * x * k["k"]).sum(), argnums=-1)([w], w, k={"k": b})
    assert last.tolist() == (w * b).tolist()
    again = zs.grad(lambda p: zs.grad(lambda q: (q["a"] ** 3).sum())(p)["a"].sum())({"a": w})
    assert again["a"].tolist() == (6 * w).tolist()
    with pytest.raises(TypeError, match="argnums is 2, and 1 positional arguments are given"):
        zs.grad(lambda p: p[0].sum(), argnums=2)([w])


def test_torch_differentiates_what_is_in_structures(torch):
    w = torch.ones(3, requires_grad=True)
    zs.fuse(lambda p, x: (p["w"] * x).sum())({"w": w}, torch.arange(3.0)).backward()
    assert w.grad.tolist() == [0, 1, 2]
