"""Fused functions of dask arrays: lazy, the results of local arrays, and nothing of a stretched shape is stored."""

import os
import pickle
import signal
import time

import numpy as np
import pytest
import zerostride as zs

da = pytest.importorskip("dask.array", reason="dask is not installed")
dask = pytest.importorskip("dask")

# Elements that take part in sums of several chunks are added up in another order than locally.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-3, "complex128": 1e-11}


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def arrays(*shapes, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def cut(rng, x, empty=False):
    """The array in random chunks."""
    chunks = []
    for size in x.shape:
        bounds = sorted(rng.integers(0, size + 1, rng.integers(0, 4))) if size else []
        sizes = np.diff([0, *bounds, size]).tolist()
        chunks.append(tuple(sizes) if empty else tuple(filter(None, sizes)) or (0,))
    return da.from_array(x, chunks=tuple(chunks))


def check(function, given, lazy, rtol=0.0, rules=None):
    fused = zs.fuse(function, rules=rules)
    wanted, found = fused(*given), fused(*lazy)
    parts = lambda result: list(result) if isinstance(result, tuple) else [result]
    for local, chunked in zip(parts(wanted), parts(found), strict=True):
        assert isinstance(chunked, da.Array)
        assert (chunked.shape, chunked.dtype) == (local.shape, local.dtype)
        computed = chunked.compute()
        assert (computed.shape, computed.dtype) == (local.shape, local.dtype)
        if local.dtype.kind in "fc":
            tolerance = max(TOLERANCE[local.dtype.name], rtol)
            np.testing.assert_allclose(computed, local, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(computed, local)


# Random functions of random arrays. Each step takes values and makes one; all that is random is drawn before.

UNARY = [lambda x: x * 2 + 1, zs.tanh, zs.abs, zs.square, lambda x: zs.exp(-zs.square(x)), lambda x: zs.where(x > 0, x, 0.5)]
BINARY = [zs.add, zs.mul, zs.sub, zs.maximum, lambda x, y: zs.where(x > y, x, y * 0.5), lambda x, y: x / (zs.abs(y) + 1)]
REDUCTIONS = [
    "sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm", "argmax", "argmin", "all", "any", "prod", "nansum", "softmax",
    "log_softmax",
]  # fmt: skip


def steps(rng, x, count):
    """A function of arrays as a list of steps, each drawn to fit the shape of the value so far."""
    chosen, shape, is_exact = [], x.shape, True
    for _ in range(count):
        kind = rng.choice(["unary", "binary", "reduce", "view", "product"], p=[0.25, 0.3, 0.25, 0.15, 0.05])
        if kind == "unary":
            chosen.append(lambda x, others, f=UNARY[rng.integers(len(UNARY))]: f(x))
        elif kind == "binary":
            f, which, front = BINARY[rng.integers(len(BINARY))], rng.integers(3), rng.random() < 0.5

            def binary(x, others, f=f, which=which, front=front):
                other = others[which]
                # Where shapes do not go together, a value meets itself.
                try:
                    zs.broadcast_shapes(x.shape, other.shape)
                except RuntimeError:
                    other = x[..., :1] if x.ndim else x
                return f(other, x) if front else f(x, other)

            chosen.append(binary)
        elif kind == "view":
            how = rng.integers(7)
            chosen.append(lambda x, others, how=how, n=rng.integers(9): viewed(x, how, int(n)))
        elif kind == "product":
            chosen.append(lambda x, others: zs.tanh(x @ x.mT) if x.ndim > 1 else x * 3)
        else:
            name, n, keepdim = REDUCTIONS[rng.integers(len(REDUCTIONS))], int(rng.integers(8)), bool(rng.random() < 0.5)
            chosen.append(lambda x, others, name=name, n=n, keepdim=keepdim: reduced(x, name, n, keepdim))
    return chosen


def viewed(x, how, n):
    if x.ndim == 0 or 0 in x.shape:
        return x[None]
    dim, size = n % x.ndim, x.shape[n % x.ndim]
    match how:
        case 0:
            return x.unsqueeze(dim)
        case 1:
            return x.transpose(dim, -1)
        case 2:
            return x[(slice(None),) * dim + (slice(n % size, None, 1 + n % 2),)]
        case 3:
            return x.flip(dim)
        case 4:
            return x[(slice(None),) * dim + (n % size,)]
        case 5:
            return x.reshape(-1) if n % 2 else x.flatten(dim)
        case _:
            return x.expand(2, *x.shape) if x.ndim < 3 else x.squeeze()


def reduced(x, name, n, keepdim):
    if 0 in x.shape and name not in ("sum", "prod", "all", "any", "nansum"):
        return x * 2
    if x.ndim == 0:
        return zs.sum(x)
    dim = n % x.ndim
    if name in ("softmax", "log_softmax"):
        return getattr(zs, name)(x, dim)
    if name in ("argmax", "argmin"):
        # Of values that are the same everywhere, as those of sums are not.
        found = getattr(zs, name)(zs.round(x, decimals=2), dim if n % 2 else None, keepdim=keepdim and n % 2 == 1)
        return found * 0.25
    if name == "norm":
        return zs.norm(x, 2, dim, keepdim)
    if name == "prod":
        return zs.prod(zs.tanh(x), dim, keepdim)
    dims = (dim, (dim + 1) % x.ndim) if n % 3 == 0 and x.ndim > 1 else dim
    if name in ("var", "std"):
        return getattr(zs, name)(x, dims, correction=0, keepdim=keepdim)
    result = getattr(zs, name)(x > 0.2 if name in ("all", "any") else x, dims, keepdim=keepdim)
    return result * 0.5


@pytest.mark.filterwarnings("ignore::dask.array.PerformanceWarning")
@pytest.mark.parametrize("group", range(8))
def test_random_functions_are_those_of_local_arrays(group):
    for seed in range(group * 40, group * 40 + 40):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.choice([0, 1, 2, 3, 5, 8], p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.2], size=rng.integers(1, 4)).tolist())
        stretched = tuple(1 if rng.random() < 0.4 else size for size in shape)[rng.integers(len(shape) + 1) :]
        dtype = rng.choice(["f4", "f8"])
        given = [rng.normal(size=one).astype(dtype) for one in (shape, stretched, shape[-1:])]
        chosen = steps(rng, given[0], rng.integers(1, 7))

        def function(*others, chosen=chosen):
            x = others[0]
            for step in chosen:
                x = step(x, others)
            return x + 0

        check(function, given, [cut(rng, x, empty=rng.random() < 0.3) for x in given], rtol=1e-4 if dtype == "f4" else 1e-9, rules="torch")


def test_distances_of_every_pair_hold_no_stretched_block(monkeypatch):
    from zerostride import _block

    shapes = []
    run = _block.run

    def watched(program, *blocks):
        result = run(program, *blocks)
        shapes.extend(part.shape for part in (result if isinstance(result, tuple) else (result,)) if hasattr(part, "shape"))
        return result

    monkeypatch.setattr(_block, "run", watched)
    a, b = arrays((60, 4), (50, 4))
    for columns in (4, 2):
        lazy = da.from_array(a, chunks=(20, columns)), da.from_array(b, chunks=(25, columns))
        check(lambda a, b: ((a[:, None] - b) ** 2).sum(-1), (a, b), lazy)
        assert max(map(np.prod, shapes)) == 20 * 25
        shapes.clear()
        for function in (
            lambda a, b: zs.exp(-((a[:, None] - b) ** 2).sum(-1)).sum(1),
            lambda a, b: zs.logsumexp(-((a[:, None] - b) ** 2).sum(-1), 1),
            lambda a, b: ((a[:, None] - b) ** 2).sum(-1).argmin(1),
            lambda a, b: ((a[:, None] - b) ** 2).sum(-1).var(1),
        ):
            check(function, (a, b), lazy)
            assert max(map(np.prod, shapes)) == 20
            shapes.clear()


def test_nothing_is_computed_before_it_is_asked_for():
    def never(block):
        raise AssertionError("a block is computed")

    x = da.ones((4, 6), chunks=2).map_blocks(never, dtype=float, meta=np.empty((0, 0)))
    for result in (zs.evaluate("(x - x.mean(0)) / x.std(0)", x=x), zs.evaluate(lambda x: x.softmax(1), x=x), zs.fuse(lambda x: x @ x.T)(x)):
        assert isinstance(result, da.Array)
        assert result._meta.size == 0
    with pytest.raises(AssertionError, match="a block is computed"):
        result.compute()


def test_results_of_one_chunk_have_the_bits_of_local_ones():
    (x,) = arrays((40, 300), dtype="f4")
    rows = da.from_array(x, chunks=(7, 300))
    for function in (lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True), lambda x: x.softmax(-1), lambda x: (x * 2).sum(1), zs.sin):
        fused = zs.fuse(function)
        np.testing.assert_array_equal(fused(rows).compute(), fused(x))


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "f2", "c16", "f4"])
def test_dtypes_are_those_of_local_results(dtype):
    x = (np.arange(60).reshape(6, 10) % 7).astype(dtype)
    lazy = da.from_array(x, chunks=(4, 3))
    functions = [lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.prod(1), lambda x: x.all(), lambda x: x.any(1), lambda x: x * x, lambda x: x.to("f4").mean()]
    if dtype != "c16":
        functions += [lambda x: x.amax(0), lambda x: x.amin()] + [lambda x: x.argmax(1), lambda x: x.argmin()] * (dtype != "?")
    if dtype in ("f2", "f4", "c16"):
        functions += [lambda x: x.mean(1), lambda x: x.var(0), lambda x: x.std(), lambda x: x @ x.mT]
    for function in functions:
        check(function, [x], [lazy])


def test_extremes_find_the_first_and_nan():
    x = np.array([[1.0, 3, 3], [3, 0, 3], [np.nan, 3, np.nan]])
    for given in (x, x[:2]):
        lazy = da.from_array(given, chunks=(2, 2))
        for function in (lambda x: x.argmax(), lambda x: x.argmin(1), lambda x: x.amax(0), lambda x: x.amin(), lambda x: x.expand(3, *x.shape).argmax()):
            check(function, [given], [lazy])


def test_reductions_over_what_is_only_stretched():
    (x,) = arrays((6, 10))
    lazy = da.from_array(x, chunks=(4, 3))
    for size in (0, 1, 3):
        stretched = lambda x: x.expand(size, 6, 10)
        for function in (lambda x: stretched(x).sum(0), lambda x: stretched(x).sum(), lambda x: stretched(x).prod((0, 2)), lambda x: stretched(x) * 2):
            check(function, [x], [lazy])
    check(lambda x: x.expand(3, 6, 10).var(0, correction=0), [x], [lazy])
    check(lambda x: x.expand(3, 6, 10).std((0, 1)), [x], [lazy])


def test_operands_may_be_local_and_results_have_any_form():
    x, row = arrays((6, 10), (10,))
    lazy, scale = da.from_array(x, chunks=(4, 3)), zs.full((6, 1), 3.0)

    @zs.fuse
    def f(x, row, power=2):
        return {"a": (x - row) ** power, "x": x, "all": [x.sum(), scale * x, 7]}

    wanted, found = f(x, row, power=3), f(lazy, row=zs.asarray(row), power=3)
    np.testing.assert_allclose(found["a"].compute(), wanted["a"])
    np.testing.assert_allclose(found["all"][0].compute(), wanted["all"][0])
    np.testing.assert_allclose(found["all"][1].compute(), wanted["all"][1])
    assert found["x"] is lazy
    assert found["all"][2] == 7


def test_chunks_of_tensors_give_chunks_of_tensors():
    (x,) = arrays((6, 10))
    lazy = da.from_array(zs.asarray(x), chunks=(4, 3))
    for function in (lambda x: x * 2, lambda x: x - x.mean(0), lambda x: x.argmax(1), lambda x: x.std(), lambda x: x.expand(2, 6, 10)):
        found = zs.fuse(function)(lazy)
        assert isinstance(found._meta, zs.Tensor)
        computed = found.compute()
        assert isinstance(computed, zs.Tensor)
        np.testing.assert_allclose(computed.numpy(), zs.fuse(function, rules="torch")(x), rtol=1e-12)


def test_blocks_that_stretching_makes_too_large_are_cut():
    a = da.zeros(40_000, chunks=40_000, dtype="f4")
    pairs = zs.fuse(lambda a, b: a[:, None] - b)(a, a)
    assert pairs.shape == (40_000, 40_000)
    assert np.prod([max(sizes) for sizes in pairs.chunks]) * 4 <= 128 << 20


def test_what_cannot_be_lazy_says_so():
    x = da.from_array(np.arange(12.0).reshape(3, 4), chunks=2)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        zs.evaluate("x + 1", x=x[x[:, 0] > 2])
    with pytest.raises(TypeError, match=r"no counterpart here: convert it with astype\(\)"):
        zs.evaluate("x + 1", x=x.astype("M8[s]"))
    with pytest.raises(zs.BroadcastError):
        zs.evaluate("x + y", x=x, y=np.ones(3))
    with pytest.raises(zs.TraceError, match="does not know yet"):
        zs.evaluate("sort(x)", x=x)
    with pytest.raises(TypeError, match=r"store\(out\)"):
        zs.evaluate("x + 1", out=np.empty((3, 4)), x=x)
    large = zs.zeros(1).expand(1 << 26)
    with pytest.warns(da.PerformanceWarning, match="256.00 MiB in memory"):
        zs.fuse(lambda x: x.sum() + large)(x)


def test_programs_are_data():
    x = da.from_array(np.arange(12.0).reshape(3, 4), chunks=2)
    result = zs.evaluate("(x * 2).sum(0) + x", x=x)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(result)).compute(), result.compute())
    # The same computation has the same name, so that Dask computes it once.
    assert zs.evaluate("(x * 2).sum(0) + x", x=x).name == result.name
    assert zs.evaluate("(x * 3).sum(0) + x", x=x).name != result.name


def threads_of_a_task():
    """What a task on a worker takes for the threads that an evaluation may have, were there eight cores."""
    import dask.system

    from zerostride import _block

    dask.system.CPU_COUNT = 8
    with _block._shared_cores():
        return _block._threads_of_one(_block._worker())


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_costs_no_result():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    a, b = arrays((24_000, 8), (8_000, 8), dtype="f4")
    rows = zs.fuse(lambda a, b: zs.exp(-((a[:, None] - b) ** 2).sum(-1)).sum(1))
    with (
        dask.config.set(scheduler=None),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=500_000_000, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(threads_of_a_task).result() == 4
        # A block of stretched shape would have 512 MB.
        result = rows(da.from_array(a, chunks=(4_000, 8)), da.from_array(b, chunks=(4_000, 8)))
        future = client.compute(result)
        finished = lambda dask_scheduler: sum(state.state == "memory" for state in dask_scheduler.tasks.values())
        while client.run_on_scheduler(finished) < 4:
            time.sleep(0.01)
        assert not future.done()
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        found = future.result()
    np.testing.assert_allclose(found[::1000], rows(a[::1000], b), rtol=1e-5)


@pytest.mark.parametrize(("workers", "wanted"), [(2, 4), (8, 1), (None, 1)])
def test_a_thread_that_computes_blocks_has_its_share_of_the_cores(monkeypatch, workers, wanted):
    import dask.system

    from zerostride import _block

    monkeypatch.setattr(dask.system, "CPU_COUNT", 8)
    own, seen = zs.get_num_threads(), []
    x = da.zeros((4, 4), chunks=2).map_blocks(lambda block: seen.append(_block._threads_of_one(None)) or block, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="threads", num_workers=workers):
        zs.evaluate("x + 1", x=x).compute()
    assert set(seen) == {wanted}
    assert zs.get_num_threads() == own


def test_a_worker_has_one_thread_for_each_of_its_own_and_blocks_have_all_cores():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")

    def threads():
        from dask.system import CPU_COUNT

        from zerostride import _block

        before = zs.get_num_threads()
        with _block._shared_cores():
            return before, zs.get_num_threads() == CPU_COUNT, zs.get_num_threads()

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=500_000_000, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for _ in range(2):
            assert client.submit(threads, pure=False).result()[:2] == (1, True)
