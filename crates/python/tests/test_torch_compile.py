"""``torch.compile(model, backend="zerostride")`` beside eager PyTorch."""

import concurrent.futures
import gc
import importlib.util
import os
import pathlib
import resource
import subprocess
import sys

import pytest

import zerostride as zs

torch = pytest.importorskip("torch", reason="torch is not installed")

import emulated_gpu  # noqa: E402
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from zerostride.torch import _backend, _cost, _partition, _table, report  # noqa: E402
from zerostride.torch._report import Report  # noqa: E402

pytestmark = [
    # torch warns of its own deprecations while it compiles.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    torch._dynamo.reset()
    gc.collect()
    torch.manual_seed(0)
    # Operands of tests are small: PyTorch would be faster.
    monkeypatch.setattr(_cost, "ALWAYS", True)


def formulas():
    """The module of the benchmark, whose formulas these tests compile at small sizes."""
    path = pathlib.Path(__file__).resolve().parents[3] / "bench" / "torch_models.py"
    spec = importlib.util.spec_from_file_location("torch_models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench = formulas()
pairwise = bench.pairwise

PROGRAMS = [
    (pairwise, [(50, 3), (40, 3)]),
    (bench.rbf, [(50, 3), (40, 3), (40,)]),
    (bench.nbody, [(30, 3), (30,)]),
    (bench.normalise, [(40, 16), (16,), (16,), (16,), (16,)]),
    (bench.cosexp, [(30, 8, 1), (30, 1, 7), (30, 8, 1)]),
    (bench.softmin, [(30, 8), (20, 8)]),
    (bench.rms_norm_swiglu, [(40, 16), (16,), (40, 16)]),
    (bench.focal_loss, [(40, 16), (40, 16)]),
    (bench.layer_norm_gelu, [(40, 16), (16,), (16,)]),
    (bench.whiten, [(2, 3, 8, 9), (3, 1, 1), (3, 1, 1)]),
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
    reports = check(function, [torch.rand(shape) + 0.5 for shape in shapes], rtol=1e-4, atol=1e-3)
    assert [(len(one.partitions), one.partitions[0].calls, one.partitions[0].failure) for one in reports] == [(1, 1, None)] * 2


def compiled(function, **options):
    return torch.compile(function, backend="zerostride", **options)


def runs(function):
    """The calls of partitions in all graphs of a function, and how often PyTorch ran one instead."""
    reports = [one for one in report() if one.name.startswith(function.__name__ + " ")]
    partitions = [partition for one in reports for partition in one.partitions]
    return sum(partition.calls for partition in partitions), [partition.failure for partition in partitions if partition.failure]


def chain(x, y):
    z = torch.exp(x) * y + 1
    return z / z.sum(-1, keepdim=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_float_dtypes(dtype):
    check(chain, [torch.rand(4, 5, dtype=dtype), torch.rand(5, dtype=dtype)])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool])
def test_integers_and_bools(dtype):
    def numbers(x, y):
        z = torch.where(x > y, x, y) | y
        return z.sum(0), z.to(torch.float32).mean(), (x == y).any(), x * 3, x / (y + 1)

    x, y = (torch.randint(0, 2, (4, 5)).to(dtype) for _ in range(2))
    torch.testing.assert_close(compiled(numbers)(x, y), numbers(x, y))
    assert runs(numbers) == (1, [])


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_distances(p):
    def distances(a, b):
        return torch.cdist(a, b, p)

    a = torch.rand(2, 5, 3)
    reports = check(distances, [a, torch.cat([a[:, :2], torch.rand(2, 4, 3)], 1)], rtol=1e-4, atol=1e-4)
    assert [name for one in reports if one.direction == "forward" for part in one.partitions for name in part.names] == ["_cdist_forward"]


LAYOUTS = {
    "transposed": lambda: (torch.rand(5, 4).T, torch.rand(5)),
    "expanded": lambda: (torch.rand(4, 1).expand(4, 5), torch.rand(1).expand(5)),
    "offset": lambda: (torch.rand(6, 9)[1:5, 2:7], torch.rand(9)[::2]),
    "0-d": lambda: (torch.rand(3), torch.tensor(2.0)),
    "empty": lambda: (torch.rand(0, 5), torch.rand(5)),
    "empty inside": lambda: (torch.rand(4, 0), torch.rand(1)),
    "the same twice": lambda: [torch.rand(5)] * 2,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    check(chain, LAYOUTS[layout]())


def test_gradients_of_formulas_that_make_constants():
    def rectified(x, y):
        z = torch.nn.functional.relu((x - x.mean(0)) * y)
        return z + torch.nn.functional.logsigmoid(z) + torch.nn.functional.hardswish(x)

    check(rectified, [torch.rand(4, 5) - 0.5, torch.rand(5)], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [lambda x: x.softmax(-1) * 2, lambda x: (x * 2).contiguous() * 3, lambda x: torch.ones(4, 5) + x, lambda x: (x * 2, torch.rms_norm(x, (5,)) + 1)])
def test_results_are_row_major_where_pytorchs_are(function):
    x = torch.rand(5, 4).T
    torch.testing.assert_close(compiled(function)(x), function(x), check_stride=True)


def test_channels_last_stays_channels_last():
    x = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    check(gated, [x, torch.rand(3, 1, 1)])
    assert compiled(gated)(x, torch.rand(3, 1, 1)).is_contiguous(memory_format=torch.channels_last)


def gated(x, g):
    return torch.nn.functional.silu(x * g) + x.mean((2, 3), keepdim=True)


def test_results_that_are_inputs_views_or_missing():
    def several(x, y):
        z = torch.exp(x) + y
        return x, None, z, z[1:], z.T, x.T, y.expand(4, 5), 3, z.clone(), torch.zeros(2, 3)

    x, y = torch.rand(4, 5), torch.rand(5)
    found, wanted = compiled(several)(x, y), several(x, y)
    torch.testing.assert_close(found, wanted, check_stride=True)
    assert found[0] is x and found[5].data_ptr() == x.data_ptr() and found[3]._base is not None
    found[8].zero_()
    torch.testing.assert_close(found[2], wanted[2])


def test_writing_in_place_reaches_the_input():
    def write(x, y):
        x.mul_(y).add_(1)
        x[0] = 7
        return torch.exp(x) + y

    x, y = torch.rand(4, 5), torch.rand(5)
    copy = x.clone()
    torch.testing.assert_close(compiled(write)(x, y), write(copy, y))
    torch.testing.assert_close(x, copy)


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_sizes_that_change(dynamic):
    counter = CompileCounterWithBackend("zerostride")
    function = torch.compile(pairwise, backend=counter, dynamic=dynamic)
    for m, n in [(4, 5), (6, 5), (6, 3), (9, 9), (4, 5), (11, 2)]:
        a, b = torch.rand(m, 3, requires_grad=True), torch.rand(n, 3, requires_grad=True)
        found, wanted = function(a, b), pairwise(a, b)
        torch.testing.assert_close(found, wanted)
        torch.testing.assert_close(torch.autograd.grad(found.sum(), [a, b]), torch.autograd.grad(wanted.sum(), [a, b]))
    assert counter.frame_count <= {None: 4, True: 3, False: 6}[dynamic]


def test_numbers_that_change():
    def scaled(x, factor, count):
        return torch.exp(x * factor) + count

    function = compiled(scaled)
    for number in range(1, 5):
        x = torch.rand(4)
        torch.testing.assert_close(function(x, 0.3 * number, number), scaled(x, 0.3 * number, number))


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_without_gradients(context):
    layer = torch.nn.LayerNorm(5)
    function = compiled(lambda x: torch.nn.functional.gelu(layer(x)))
    x = torch.rand(4, 5)
    with context():
        torch.testing.assert_close(function(x), torch.nn.functional.gelu(layer(x)))


def test_autocast():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.GELU())
    x = torch.rand(4, 8)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(compiled(model)(x), model(x), rtol=2e-2, atol=2e-2)


def test_complex_numbers_stay_with_pytorch():
    def complicated(x):
        return (torch.exp(x) * x.conj()).imag, torch.exp(x.real) + 1

    x = torch.rand(4, dtype=torch.complex64)
    torch.testing.assert_close(compiled(complicated)(x), complicated(x))


def test_views_that_negate():
    def negated(x, y):
        return torch.exp(x) * y + x

    x = torch.rand(4, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    y, function = torch.rand(4), compiled(negated)
    for operands in ((y, y), (x, y), (y, x), (x.clone(), y)):
        torch.testing.assert_close(function(*operands), negated(*operands))
    y.requires_grad_()
    for gradient in (torch.rand(4), x):
        found, wanted = (torch.autograd.grad(f(x, y), y, gradient) for f in (function, negated))
        torch.testing.assert_close(found, wanted)


def test_vmap_and_grad_of_torch_func():
    def loss(w, x):
        return (torch.tanh(x * w) ** 2).sum()

    def per_sample(w, xs):
        return torch.func.vmap(torch.func.grad(loss), (None, 0))(w, xs)

    w, xs = torch.rand(3), torch.rand(5, 3)
    torch.testing.assert_close(compiled(per_sample)(w, xs), per_sample(w, xs))


def test_random_numbers_are_those_of_pytorchs_own_graph():
    def noisy(x):
        return torch.nn.functional.dropout(torch.exp(x) + torch.rand_like(x), 0.5) * torch.randn(5)

    found = []
    for backend in ("aot_eager", "zerostride"):
        torch._dynamo.reset()
        torch.manual_seed(3)
        found.append(torch.compile(noisy, backend=backend)(torch.ones(4, 5)))
    torch.testing.assert_close(*found)


def test_formulas_of_pytorch_stand_for_its_operations_where_these_agree():
    # In PyTorch's own formulas of these, integers become f64, and the wider dtype is the result's.
    whole, single, double = torch.tensor([2, 2**63 - 1, 2**53 + 1, -8]), torch.rand(4), torch.rand(4).double()
    functions = (lambda x: torch.nn.functional.threshold(x + 0, 0.1, 20), [whole]), (torch.nn.functional.huber_loss, [single, double])
    for function, operands in (*functions, (torch.nn.functional.soft_margin_loss, [single, double])):
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(function)(*operands), function(*operands), rtol=0, atol=0)


def test_an_integer_divided_by_zero_raises_pytorchs_error():
    def divide(x, y):
        return torch.div(x, y, rounding_mode="floor") + x

    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(divide)(torch.ones(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))


def test_two_threads_compile_and_run():
    def work(seed):
        function = compiled(lambda x, y: (torch.exp(x) * y).sum(-1) + seed)
        generator = torch.Generator().manual_seed(seed)
        for size in range(2, 6):
            x, y = torch.rand(size, 5, generator=generator), torch.rand(5, generator=generator)
            torch.testing.assert_close(function(x, y), (torch.exp(x) * y).sum(-1) + seed)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))


def test_a_training_run_follows_eager():
    def losses(compile):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.LayerNorm(16), torch.nn.SiLU(), torch.nn.Linear(16, 2))
        points, target = torch.rand(30, 3), torch.rand(30, 2)

        def loss(points):
            made = model(points)
            return (((made[:, None] - target) ** 2).sum(-1).sqrt() * torch.eye(30)).mean() + pairwise(made, made).mean()

        run = compile(loss)
        optimizer, found = torch.optim.AdamW(model.parameters(), 1e-2), []
        for _ in range(20):
            optimizer.zero_grad()
            value = run(points)
            value.backward()
            optimizer.step()
            found.append(value.item())
        return found

    torch.testing.assert_close(losses(compiled), losses(lambda function: function), rtol=1e-4, atol=1e-5)


def test_memory_stays_where_it_is():
    function = compiled(chain)

    def steps(number):
        for _ in range(number):
            x = torch.rand(64, 128, requires_grad=True)
            function(x, torch.rand(128)).sum().backward()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    steps(50)
    before = steps(200)
    assert steps(1000) - before < 8 * 1024


def test_no_compiler_and_no_import_of_zerostride_are_needed():
    code = """if True:
        import torch
        f = torch.compile(lambda x: (torch.exp(x) * x).sum(-1), backend="zerostride")
        x = torch.rand(4, 5)
        torch.testing.assert_close(f(x), (torch.exp(x) * x).sum(-1))
        """
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PATH": "", "CC": "", "CXX": ""})


def test_report_says_what_ran_where_and_why(capsys):
    def model(x, w):
        return torch.exp(x @ w) * 2 + torch.fft.rfft(x).abs().sum()

    compiled(model)(torch.rand(4, 4), torch.rand(4, 4))
    capsys.readouterr()
    report()
    said = capsys.readouterr().out
    for words in ("model at test_torch_compile.py", "fused_0: exp, mul", "1 call", "aten.mm.default: no row in the table", "complex numbers"):
        assert words in said


def few(x):
    return torch.exp(x)


def long(x):
    return (((x + 1) * 2 - x) * x + 3) / (x * x + 1)


def activation(x):
    return torch.nn.functional.gelu(x) + 1


def normalised_activation(x):
    return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, x.shape[-1:]))


@pytest.mark.parametrize(
    "function, shape, calls",
    [
        (few, (4,), 1),
        (few, (1 << 16,), 1),
        (long, (4,), 1),
        (activation, (300, 300), 0),
        (normalised_activation, (1024, 1024), 1),
        (pairwise, (300, 3), 1),
    ],
)
def test_what_pytorch_computes_faster_stays_there(function, shape, calls, monkeypatch):
    monkeypatch.setattr(_cost, "ALWAYS", False)
    operands = [torch.rand(shape) for _ in range(function.__code__.co_argcount)]
    torch.testing.assert_close(compiled(function)(*operands), function(*operands))
    assert runs(function) == (calls, [])


def small_normalise(x, b):
    return (x - x.mean(0)) / (((x - x.mean(0)) ** 2).mean(0) + 1e-5) ** 0.5 * b


@pytest.mark.parametrize(
    "function",
    [
        small_normalise,
        lambda x, b: x + b,
        lambda x, b: torch.tanh(x + b),
        lambda x, b: torch.softmax(x * b, 1),
        lambda x, b: (x * b).sum(0),
        lambda x, b: torch.where(x > b, x, b),
        lambda x, b: (b.exp(), (x * b).mean(), x - 1),
        lambda x, b: torch.nn.functional.layer_norm(x * b, b.shape, b, b) + 1,
        # PyTorch has a kernel of these, and a formula.
        lambda x, b: torch.nn.functional.mse_loss(x, b.expand_as(x)),
        lambda x, b: torch.nn.functional.hardswish(x) * b,
        lambda x, b: torch.nn.functional.binary_cross_entropy_with_logits(x, b.expand_as(x)),
    ],
)
@pytest.mark.parametrize("shape", [(4, 4), (64, 48), (200, 30)])
@pytest.mark.parametrize("gradient", [False, True])
def test_small_formulas_run_in_one_partition(function, shape, gradient, monkeypatch):
    monkeypatch.setattr(_cost, "ALWAYS", False)
    operands = torch.rand(shape), torch.rand(shape[1], requires_grad=gradient)
    wanted, found = function(*operands), compiled(function)(*operands)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert runs(function) == (1, [])
    if gradient:
        sums = (sum(part.sum() for part in (parts if isinstance(parts, tuple) else (parts,))) for parts in (found, wanted))
        one, other = (torch.autograd.grad(total, operands[1])[0] for total in sums)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_nothing_of_pytorch_runs_around_a_partition_of_a_whole_graph():
    """AOTAutograd's wrapper in each call would cost as much as a small formula."""
    wrapped = []
    counter = CompileCounterWithBackend("zerostride")

    def backend(module, inputs):
        wrapped.append(counter(module, inputs))
        return wrapped[-1]

    def several(x, y, n):
        return [y.sum(0), x * y + n, (x + 1).t() * y.t()]

    def is_wrapped(function):
        return function.__qualname__ not in ("_Prepared.__call__", "whole.<locals>.run")

    x, y = torch.rand(3, 4), torch.rand(3, 4)
    for whole, operands in ((pairwise, (x, y)), (several, (x, y, 2))):
        torch.testing.assert_close(torch.compile(whole, backend=backend)(*operands), whole(*operands))
        assert not is_wrapped(wrapped.pop())
        assert runs(whole) == (1, [])
    for around in (lambda x, y: (x + y).t(), lambda x, y: x.add_(y), lambda x, y: (x @ y.t()) + 1):
        torch.testing.assert_close(torch.compile(around, backend=backend)(x.clone(), y), around(x.clone(), y))
        assert is_wrapped(wrapped.pop())


@pytest.mark.parametrize("shape, calls", [((136, 128), 0), ((4096, 2048), 1)])
def test_a_sum_of_columns_stays_with_pytorch_where_values_are_in_cache(shape, calls, monkeypatch):
    monkeypatch.setattr(_cost, "ALWAYS", False)

    def bias(x, y):
        z = x * y + x
        return z, z.sum(0), y.cumsum(0)

    x, y = torch.rand(shape), torch.rand(shape)
    torch.testing.assert_close(compiled(bias)(x, y), bias(x, y))
    assert runs(bias) == (calls, [])


@pytest.mark.parametrize("shape, calls", [((16, 8), 0), ((1024, 128), 1)])
def test_layer_norm_runs_with_its_neighbours_where_memory_costs_most(shape, calls, monkeypatch):
    monkeypatch.setattr(_cost, "ALWAYS", False)

    def normalised(x, y):
        return torch.nn.functional.layer_norm(x + y, x.shape[-1:]) * y, y.cumsum(0)

    x, y = torch.rand(shape), torch.rand(shape)
    torch.testing.assert_close(compiled(normalised)(x, y), normalised(x, y), rtol=1e-4, atol=1e-4)
    assert runs(normalised) == (calls, [])
    layers = sum(count for one in report() for (name, _), count in one.theirs.items() if "layer_norm" in name)
    assert layers == 1 - calls


def test_a_policy_around_a_call_holds_in_the_engine():
    function = compiled(pairwise)
    a, b = torch.rand(4, 3), torch.rand(5, 3)
    function(a, b)
    with zs.policy(mutual_stretch="error"), pytest.raises(zs.BroadcastError, match="refuses mutual_stretch"):
        function(a, b)


SAMPLED = """
    add sub div where clamp pow sum mean var std amax max norm logsumexp softmax log_softmax sigmoid nn.functional.layer_norm
    nn.functional.group_norm nn.functional.batch_norm nn.functional.gelu nn.functional.silu nn.functional.huber_loss
""".split()


@pytest.mark.filterwarnings("ignore")
def test_samples_of_pytorchs_own_tests():
    pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")
    import torch_opinfo

    counts, differences = torch_opinfo.run(SAMPLED, [torch.float32, torch.bfloat16], samples=1)
    assert differences == []
    assert counts["operations"] > 15


def test_threads_of_torch_work_for_several_callers_and_not_in_a_forked_child():
    code = """if True:
        import concurrent.futures, os, torch, zerostride as zs
        fused, x = zs.fuse(lambda x, y: (x * y + 1).exp()), torch.rand(1000, 1000)
        wanted = (x * x + 1).exp()
        def right(_):
            return torch.allclose(fused(x, x), wanted)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert all(pool.map(right, range(40)))
        assert right(0)
        child = os.fork()
        if child == 0:
            os._exit(0 if (zs.asarray(fused(x, x)) - zs.asarray(wanted)).abs().max().item() < 1e-4 else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_importing_zerostride_does_not_import_torch():
    code = "import zerostride, sys; assert 'torch' not in sys.modules and 'zerostride.torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_policy_names_the_line_of_the_model():
    def loss(x, y):
        return y.sub(x).square().mean()

    strict = compiled(loss, options={"policy": {"mutual_stretch": "error"}})
    line = loss.__code__.co_firstlineno + 1
    for _ in range(2):
        with pytest.raises(zs.BroadcastError, match=r"torch.sub of \[4\] and \[4, 1\]") as caught:
            strict(torch.ones(4, 1), torch.ones(4))
        assert f"in loss at test_torch_compile.py:{line}" in caught.value.__notes__
    warned = compiled(loss, options={"policy": {"mutual_stretch": "warn"}})
    with pytest.warns(zs.BroadcastWarning) as warnings:
        warned(torch.ones(4, 1), torch.ones(4))
    assert {warning.lineno for warning in warnings} >= {line}
    assert strict(torch.ones(4), torch.zeros(4)).item() == 1


def test_an_unknown_option_is_refused():
    with pytest.raises(Exception, match="has the option 'policy', and no 'fast'"):
        compiled(pairwise, options={"fast": True})(torch.ones(2, 2), torch.ones(2, 2))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_modes_of_pytorchs_compiler_do_nothing_and_the_log_says_so(mode, caplog):
    a, b = torch.rand(4, 3), torch.rand(5, 3)
    assert torch.equal(torch.compile(pairwise, backend="zerostride", mode=mode)(a, b), zs.fuse(pairwise)(a, b))
    assert [record.message for record in caplog.records if record.name.startswith("zerostride")] == (
        [] if mode == "default" else [f"the backend zerostride has no modes: mode={mode!r} does nothing"]
    )


# aten operations of PyTorch's tags `core` and `pointwise` that no row serves, with the reason.
NOT_IN_THE_TABLE = {
    "products, convolutions and pooling are PyTorch's":
        "_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _pdist_forward adaptive_avg_pool1d "
        "addmm avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d bmm col2im convolution convolution_backward grid_sampler_2d "
        "max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices mm upsample_bilinear2d "
        "upsample_nearest2d",
    "moves or looks up elements":
        "_embedding_bag as_strided cat constant_pad_nd copy cumsum embedding embedding_dense_backward gather index index_put "
        "index_select masked_scatter nonzero reflection_pad1d reflection_pad2d reflection_pad3d repeat replication_pad2d "
        "replication_pad3d scatter scatter_add scatter_reduce select_scatter slice_scatter sort split_with_sizes topk",
    "makes elements of nothing, or random ones":
        "arange empty empty_strided native_dropout rand randn randperm rrelu",
    "complex numbers": "_fft_c2r _fft_r2c conj_physical",
    "a number for Python": "_local_scalar_dense equal sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride",
    "the engine has no such function":
        "igamma igammac mvlgamma polygamma special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 "
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
        "special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 special_i1e "
        "special_laguerre_polynomial_l special_legendre_polynomial_p special_modified_bessel_i0 special_modified_bessel_i1 "
        "special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 "
        "special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_zeta",
}  # fmt: skip


def test_every_core_and_pointwise_operation_is_in_the_table_or_has_a_reason():
    reasons = {name for names in NOT_IN_THE_TABLE.values() for name in names.split()}
    served, missing = set(_table.DECOMPOSED), set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            target = getattr(packet, overload)
            is_tagged = {torch.Tag.core, torch.Tag.pointwise} & set(target.tags)
            if not is_tagged or target._schema.is_mutable or overload.endswith("out"):
                continue
            (served if _table.row(target) else missing).add(name)
    assert missing - served - reasons == set()
    assert reasons & served == set()


def on_gpu(function, *operands):
    """The report of a graph whose operands are made on a GPU, which need not be there: they have none of their elements."""
    with torch._subclasses.FakeTensorMode():
        graph = make_fx(function)(*[operand() for operand in operands])
    record = Report("f", "forward")
    _partition.divide(graph, record)
    return [partition.names for partition in record.partitions], {name: reason for name, reason in record.theirs}


def row(*size, device="cuda", **named):
    return lambda: torch.ones(size, device=device, **named)


def test_graphs_on_a_gpu_run_there(monkeypatch):
    assert on_gpu(lambda x: torch.softmax(x + 1, -1).sum(0), row(40, 30)) == ([["add", "_softmax", "sum_1"]], {})
    assert on_gpu(lambda x: torch.where(x > 0, x, torch.zeros_like(x)) * 2, row(40)) == ([["gt", "where", "mul"]], {})
    integers = row(40, dtype=torch.int64)
    assert on_gpu(lambda x: torch.gcd(x, x) + 1, integers) == ([["add"]], {"aten.gcd.default": "has no kernel for GPUs"})
    # A partition of one operation saves no kernel.
    monkeypatch.setattr(_cost, "ALWAYS", False)
    assert on_gpu(lambda x: x + 1, row(40)) == ([], {"aten.add.Tensor": "the engine would not be faster"})
    assert on_gpu(lambda x: (x + 1) * 2, row(40)) == ([["add", "mul"]], {})


def test_what_is_on_several_devices_is_left_to_pytorch():
    number = row(device="cpu")
    assert on_gpu(lambda x, y: x + y, row(40), number) == ([["add"]], {})
    names, theirs = on_gpu(lambda x, y: x * (y + 1), row(40), number)
    assert (names, theirs) == ([["mul"]], {"aten.add.Tensor": "is on cpu"})
    _, theirs = on_gpu(lambda x, y: x + y.to("cuda"), row(40), row(40, device="cpu"))
    assert theirs == {"aten._to_copy.default": "reads a tensor on cpu"}
    _, theirs = on_gpu(lambda x, y: (x.exp(), y.to("cuda").exp()), row(40), number)
    assert theirs == {"aten._to_copy.default": "moves elements to cuda:0"}
    _, theirs = on_gpu(lambda x, y: (x.exp(), y.exp()), row(40), row(40, device="cuda:1"))
    assert theirs == {"aten.exp.default": "is on cuda:1"}


with_emulator = pytest.mark.skipif(not emulated_gpu.IS_THERE, reason="ZEROSTRIDE_CUDA does not name the emulated driver")


@with_emulator
@pytest.mark.parametrize("function, shapes", PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_programs_and_their_gradients_have_the_bits_of_the_cpu_on_a_gpu(function, shapes):
    def with_gradients(*leaves):
        result = function(*leaves)
        return result, *torch.autograd.grad((result * result).sum(), leaves)

    with torch._subclasses.FakeTensorMode():
        leaves = [torch.rand(shape).requires_grad_() for shape in shapes]
        graph = make_fx(with_gradients, decomposition_table=_table.decompositions())(*leaves)
    operands, record = [torch.rand(shape) + 0.5 for shape in shapes], Report(function.__name__, "both")
    found = emulated_gpu.divide(graph, record)(operands)
    wanted = _backend.compile(graph, Report(function.__name__, "both"))(list(operands))
    assert [one.numpy().tobytes() for one in found] == [other.numpy().tobytes() for other in wanted]
    assert [(partition.calls, partition.failure) for partition in record.partitions] == [(1, None)] * len(record.partitions)


@with_emulator
def test_what_is_said_to_have_no_kernel_for_gpus_has_none():
    x = zs.ones(3, dtype=zs.int32).cuda()
    for function in _table.ON_CPU:
        with pytest.raises(RuntimeError, match="has no kernel for cuda:0"):
            function(x, x)
