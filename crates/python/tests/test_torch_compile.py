"""``torch.compile(model, backend="zerostride")`` beside eager PyTorch."""

import gc
import subprocess
import sys

import pytest

import zerostride as zs

torch = pytest.importorskip("torch", reason="torch is not installed")

from zerostride.torch import report  # noqa: E402

pytestmark = [
    # torch warns of its own deprecations while it compiles.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    gc.collect()
    torch.manual_seed(0)


def pairwise(a, b):
    return ((a[:, None] - b) ** 2).sum(-1)


def rbf(a, b, w):
    return (torch.exp(-((a[:, None] - b) ** 2).sum(-1)) * w).sum(1)


def nbody(p, m):
    d = p[None] - p[:, None]
    r = (d * d).sum(-1) + 1e-2
    return (d * (m * r**-1.5)[..., None]).sum(1)


def normalise(x, m, s, g, b):
    return (x - m) / s * g + b


def cosexp(a, b, c):
    return (torch.cos(a * b) * torch.exp(c)).sum(-1)


PROGRAMS = [
    (pairwise, [(50, 3), (40, 3)]),
    (rbf, [(50, 3), (40, 3), (40,)]),
    (nbody, [(30, 3), (30,)]),
    (normalise, [(40, 16), (16,), (16,), (16,), (16,)]),
    (cosexp, [(30, 8, 1), (30, 1, 7), (30, 8, 1)]),
]


def gradients(function, leaves):
    """The result of a function and the gradients of a fixed scalar of it."""
    leaves = [leaf.detach().requires_grad_(leaf.is_floating_point()) for leaf in leaves]
    result = function(*leaves)
    (result * torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape)).sum().backward()
    return result.detach(), [leaf.grad for leaf in leaves]


def check(function, leaves, **tolerance):
    """Result and gradients are eager PyTorch's, strides too; returns the reports of what ran."""
    wanted = gradients(function, leaves)
    found = gradients(torch.compile(function, backend="zerostride"), leaves)
    torch.testing.assert_close(found, wanted, check_stride=True, **tolerance)
    return [one for one in report() if one.name.startswith(function.__name__ + " ")]


@pytest.mark.parametrize("function, shapes", PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_programs_and_their_gradients_run_in_one_partition_each(function, shapes):
    reports = check(function, [torch.rand(shape) + 0.5 for shape in shapes], rtol=1e-5, atol=1e-4)
    assert [(len(one.partitions), one.partitions[0].calls, one.partitions[0].failure) for one in reports] == [(1, 1, None)] * 2


def test_importing_zerostride_does_not_import_torch():
    code = "import zerostride, sys; assert 'torch' not in sys.modules and 'zerostride.torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_policy_names_the_line_of_the_model():
    def loss(x, y):
        return torch.nn.functional.mse_loss(x, y.sub(x))

    compiled = torch.compile(loss, backend="zerostride", options={"policy": {"mutual_stretch": "error"}})
    line = loss.__code__.co_firstlineno + 1
    for _ in range(2):
        with pytest.raises(zs.BroadcastError, match=r"torch.sub of \[4\] and \[4, 1\]") as caught:
            compiled(torch.ones(4, 1), torch.ones(4))
        assert f"in loss at test_torch_compile.py:{line}" in caught.value.__notes__
    warned = torch.compile(loss, backend="zerostride", options={"policy": {"mutual_stretch": "warn"}})
    with pytest.warns(zs.BroadcastWarning) as warnings:
        warned(torch.ones(4, 1), torch.ones(4))
    assert {warning.lineno for warning in warnings} >= {line}
    assert compiled(torch.ones(4), torch.ones(4)).item() == 1


def test_an_unknown_option_is_refused():
    with pytest.raises(Exception, match="has the option 'policy', and no 'fast'"):
        torch.compile(pairwise, backend="zerostride", options={"fast": True})(torch.ones(2, 2), torch.ones(2, 2))
