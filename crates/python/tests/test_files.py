"""Arrays in files: read when they are needed, in pieces, into files that appear complete or not at all."""

import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
import zerostride as zs

ROWS = np.random.default_rng(0).normal(3, 2, (20_000, 16))
WANTED = (ROWS - ROWS.mean(0)) / ROWS.std(0, ddof=1)


@zs.fuse(rules="torch")
def standardised(x):
    return (x - x.mean(0)) / x.std(0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ROWS)
    np.savez("two.npz", x=ROWS, scale=np.arange(16.0))
    return tmp_path


@pytest.mark.parametrize("path", ["x.npy", "two.npz:x"])
def test_a_source_knows_its_shape_before_anything_is_read(folder, path):
    x = zs.open(path)
    assert (x.shape, x.ndim, x.dtype, x.nbytes, len(x), str(x.path)) == ((20_000, 16), 2, zs.float64, ROWS.nbytes, 20_000, path)
    assert repr(x) == f'Source("{path}", shape=[20000, 16], dtype=float64)'
    assert isinstance(x, zs.Expr)
    back = pickle.loads(pickle.dumps(x))
    assert (back.shape, str(back.path)) == (x.shape, path)


@pytest.mark.parametrize("out", ["y.npy", "y.npz", "y.safetensors"])
@pytest.mark.parametrize("formula", ["(x - x.mean(0)) / x.std(0)", standardised, standardised.__wrapped__, None])
def test_a_file_is_made_of_a_file_in_pieces(folder, out, formula):
    x = zs.open("x.npy")
    if formula is None:
        returned = zs.evaluate((x - x.mean(0)) / x.std(0), out=out, max_memory="4 MiB")
    else:
        returned = zs.evaluate(formula, out=folder / out, max_memory="4 MiB", x=x)
    assert returned == (out if formula is None else folder / out)
    y = zs.open(out)
    assert (y.shape, y.dtype) == (x.shape, zs.float64)
    in_memory = standardised(ROWS)
    np.testing.assert_array_equal(np.asarray(y), in_memory)
    np.testing.assert_allclose(in_memory, WANTED)
    assert sorted(os.listdir()) == sorted(["x.npy", "two.npz", out])


def test_files_and_arrays_are_operands_together(folder):
    scale = zs.open("two.npz:scale")
    found = zs.evaluate("(x - m) * s", x=zs.open("x.npy"), m=ROWS.mean(0), s=scale, max_memory=1 << 22)
    assert isinstance(found, zs.Tensor)
    np.testing.assert_allclose(found.numpy(), (ROWS - ROWS.mean(0)) * np.arange(16.0))
    total = np.zeros(16)
    assert zs.evaluate("x.sum(0)", out=total, x=zs.open("x.npy")) is total
    np.testing.assert_allclose(total, ROWS.sum(0))
    assert zs.evaluate("x + 1", out="z.npy", x=np.arange(3)) == "z.npy"
    assert np.load("z.npy").tolist() == [1, 2, 3]


def test_fused_functions_take_files(folder):
    x = zs.open("x.npy")
    np.testing.assert_allclose(standardised(x).numpy(), WANTED)
    assert "reading 1: x.npy" in standardised.plan(x)
    low, high = zs.fuse(lambda x: (x.amin(0), x.amax(0)))(x)
    np.testing.assert_array_equal(high.numpy() - low.numpy(), np.ptp(ROWS, 0))


def test_elements_are_read_when_they_are_asked_for(folder):
    x = zs.open("x.npy")
    np.testing.assert_array_equal(np.asarray(x[5:7]), ROWS[5:7])
    np.testing.assert_array_equal(zs.asarray(x).numpy(), ROWS)
    np.testing.assert_array_equal(zs.tensor(x, dtype=zs.float32).numpy(), ROWS.astype("f4"))
    np.testing.assert_array_equal(x.numpy(), ROWS)
    assert float(x[0, 0]) == ROWS[0, 0] == x[0, 0].item()
    assert x[0].tolist() == ROWS[0].tolist()
    assert bool(x.amax() > 3)
    assert isinstance(x * 2, zs.Expr)
    np.testing.assert_array_equal(zs.sort(x[:, 0]).values.numpy(), np.sort(ROWS[:, 0]))
    zs.evaluate("x.to(bfloat16)", out="half.safetensors", x=x)
    assert zs.asarray(zs.open("half.safetensors")).dtype is zs.bfloat16


def test_a_file_is_replaced_only_on_demand(folder):
    x = zs.open("x.npy")
    with pytest.raises(FileExistsError, match="x.npy: it exists already; choose another name, or allow it to be replaced with force=True"):
        zs.evaluate("x * 2", out="x.npy", x=x)
    zs.evaluate("x * 2", out="x.npy", force=True, x=x)
    np.testing.assert_array_equal(np.load("x.npy"), 2 * ROWS)
    # The source still shows the file that it has opened.
    np.testing.assert_array_equal(np.asarray(x), ROWS)


def test_errors_name_the_file(folder):
    for path, error, text in [
        ("none.npy", FileNotFoundError, "none.npy: cannot open it"),
        (".", OSError, ".: it is a folder"),
        ("two.npz", ValueError, "append `:` and a name to the path"),
        ("two.npz:y", ValueError, "there is no array `y`; the file holds 2: `x`, `scale`"),
    ]:
        with pytest.raises(error, match=None) as caught:
            zs.open(path)
        assert text in str(caught.value)
    (folder / "cut.npy").write_bytes((folder / "x.npy").read_bytes()[:5000])
    with pytest.raises(ValueError, match="cut.npy.*cut short"):
        zs.open("cut.npy")
    with pytest.raises(ValueError, match="y.txt: the ending says no known format"):
        zs.evaluate("x", out="y.txt", x=ROWS)
    with pytest.raises(FileNotFoundError, match="no/y.npy"):
        zs.evaluate("x", out="no/y.npy", x=ROWS)
    with pytest.raises(MemoryError, match="bytes of memory are needed"):
        zs.evaluate("x - x.mean(0)", out="y.npy", x=zs.open("x.npy"), max_memory=1000)
    with pytest.raises(zs.BroadcastError):
        zs.evaluate("x + y", out="y.npy", x=zs.open("x.npy"), y=np.zeros(3))
    with pytest.raises(ValueError, match="max_memory is a number of bytes"):
        zs.evaluate("x", out="y.npy", x=ROWS, max_memory="much")
    with pytest.raises(TypeError, match="force says whether"):
        zs.evaluate("x", x=ROWS, force=ROWS)
    with pytest.raises(TypeError, match="one file for a tuple of 2"):
        zs.evaluate(lambda x: (x, x), out="y.npy", x=ROWS)
    assert not os.path.exists("y.npy")


def bytes_read():
    """The bytes that this process has read so far."""
    try:
        with open("/proc/self/io") as counters:
            return int(counters.readline().split()[1])
    except OSError:
        pytest.skip("the system does not count the bytes that a process reads")


def moments(x):
    return {"mean": x.mean(0), "more": (x.std(0), x.amax(1))}


@pytest.mark.parametrize("where", ["files", "arrays", "both", "results"])
@pytest.mark.parametrize("formula", [moments, zs.fuse(moments), None])
def test_several_results_read_a_file_once(folder, formula, where):
    x = zs.open("x.npy")
    shapes = {"mean": (16,), "more": ((16,), (20_000,))}
    arrays = {"mean": np.zeros(16), "more": (np.zeros(16), np.zeros(20_000))}
    files = {"mean": "mean.npy", "more": ("std.npz", folder / "amax.npy")}
    out = {"files": files, "arrays": arrays, "both": arrays | {"more": (arrays["more"][0], "amax.npy")}, "results": None}[where]
    given = {} if formula is None else {"x": x}
    before = bytes_read()
    returned = zs.evaluate(moments(x) if formula is None else formula, out, max_memory="16 MiB", **given)
    assert ROWS.nbytes <= bytes_read() - before < 1.3 * ROWS.nbytes
    assert returned is out if out else isinstance(returned["mean"], zs.Tensor)
    read = lambda place: zs.asarray(zs.open(place)) if isinstance(place, (str, os.PathLike)) else zs.asarray(place)
    for found, wanted in zip(_flat(returned), _flat(moments(x))):
        np.testing.assert_array_equal(read(found), zs.asarray(wanted))
    assert [read(found).shape for found in _flat(returned)] == [shapes["mean"], *shapes["more"]]


def _flat(results):
    return [results["mean"], *results["more"]]


def test_results_that_are_cut_in_different_ways_are_right_together(folder):
    x = zs.open("x.npy")
    formulas = (x.T + 1, x[:100] * 2, x.reshape(-1).exp().reshape(8, -1), (x - x.mean(0)) / x.std(0), x.sum())
    names = [f"{number}.npy" for number in range(5)]
    assert zs.evaluate(list(formulas), out=names, max_memory="24 MiB") is names
    for name, formula in zip(names, formulas):
        np.testing.assert_array_equal(np.load(name), np.asarray(formula))
    together = zs.evaluate(formulas)
    assert isinstance(together, tuple)
    for found, formula in zip(together, formulas):
        np.testing.assert_array_equal(found, np.asarray(formula))


def test_several_results_are_refused_before_a_file_appears(folder):
    x = zs.open("x.npy")
    two = lambda x: (x.mean(0), x * 2)
    for out, error, text in [
        (("a.npy", "./a.npy"), ValueError, "two results are written to"),
        (("a.npy", "x.npy"), FileExistsError, "x.npy: it exists already"),
        (("a.npy", "b.npy", "c.npy"), TypeError, "a tuple of 3 for a tuple of 2"),
        (("a.npy", np.zeros(3)), RuntimeError, "output with shape"),
        (("a.npy", np.zeros(ROWS.shape, np.int64)), RuntimeError, "can't be cast"),
        (("a.npy", "b.txt"), ValueError, "b.txt: the ending says no known format"),
    ]:
        with pytest.raises(error, match=text):
            zs.evaluate(two, out, x=x)
        assert sorted(os.listdir()) == ["two.npz", "x.npy"], text
    with pytest.raises(zs.TraceError, match="a file takes an array, and the function returns None"):
        zs.evaluate(lambda x: (x * 2, None), ("a.npy", "b.npy"), x=x)
    with pytest.raises(MemoryError, match="the result .* stays in memory"):
        zs.evaluate(two, ("a.npy", np.zeros(ROWS.shape)), max_memory=1 << 21, x=x)
    assert sorted(os.listdir()) == ["two.npz", "x.npy"]
    # An argument, a number and a part in memory are results, too.
    a = np.arange(3.0)
    zs.evaluate(lambda a: (a, 2.5, a * 2), ("a.npy", "b.npy", a), a=a)
    assert (np.load("a.npy").tolist(), np.load("b.npy").item(), a.tolist()) == ([0, 1, 2], 2.5, [0, 2, 4])


def test_an_index_tensor_reads_what_it_picks_from(folder):
    x = zs.open("x.npy")
    np.testing.assert_array_equal(x[[5, 3]], ROWS[[5, 3]])
    np.testing.assert_array_equal(x[x[:, 0] > 3], ROWS[ROWS[:, 0] > 3])


@pytest.fixture
def store(folder):
    """A store that was made in pieces of a file, where the package is built for stores."""
    try:
        assert zs.evaluate(standardised, out="y.zarr", max_memory="4 MiB", x=zs.open("x.npy")) == "y.zarr"
    except ValueError as error:
        assert "y.zarr: it is a Zarr store, and this build reads and writes none" in str(error)
        pytest.skip(str(error))
    return "y.zarr"


def test_zarr_stores_are_files_where_the_package_is_built_for_them(store):
    y = zs.open(store)
    assert (y.shape, y.dtype) == (ROWS.shape, zs.float64)
    np.testing.assert_array_equal(np.asarray(y), standardised(ROWS))
    with pytest.raises(FileExistsError, match="y.zarr: it exists already"):
        zs.evaluate("y + 1", out=store, y=y)
    zs.evaluate("y + 1", out=store, force=True, y=y)
    np.testing.assert_array_equal(np.asarray(zs.open(store)), standardised(ROWS) + 1)
    assert sorted(os.listdir()) == ["two.npz", "x.npy", "y.zarr"]


def test_stores_go_to_zarr_python_and_come_from_it(store):
    zarr = pytest.importorskip("zarr", reason="zarr-python is not installed")
    np.testing.assert_array_equal(zarr.open(store, mode="r")[:], standardised(ROWS))
    group = zarr.create_group("group.zarr")
    for name, chunks, shards in [("plain", (3000, 5), None), ("deep/sharded", (500, 4), (4000, 16))]:
        codec = zarr.codecs.ZstdCodec() if shards else zarr.codecs.GzipCodec()
        group.create_array(name, data=ROWS, chunks=chunks, shards=shards, compressors=[codec])
    plain, sharded = zs.open("group.zarr:plain"), zs.open("group.zarr:deep/sharded")
    zs.evaluate("a - 2 * b", out="z.zarr", max_memory="4 MiB", a=plain, b=sharded)
    np.testing.assert_array_equal(zarr.open("z.zarr", mode="r")[:], -ROWS)
    with pytest.raises(ValueError, match="append `:` and a name to the path"):
        zs.open("group.zarr")


def test_progress_is_told_and_may_end_it(folder, capfd):
    told = []
    zs.evaluate(standardised, out="y.npy", max_memory="4 MiB", progress=lambda done, total: told.append((done, total)), x=zs.open("x.npy"))
    assert len(told) > 2
    assert told == sorted(told)
    assert told[-1] == (3 * ROWS.nbytes,) * 2

    def stop(done, total):
        raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        zs.evaluate(standardised, out="z.npy", max_memory="4 MiB", progress=stop, x=zs.open("x.npy"))
    assert sorted(os.listdir()) == ["two.npz", "x.npy", "y.npy"]
    assert capfd.readouterr().err == ""
    zs.evaluate("x + 1", out="z.npy", max_memory="4 MiB", progress=True, x=zs.open("x.npy"))
    assert "100 % of 0.0 GB\n" in capfd.readouterr().err


INTERRUPTED = """
import os, signal, threading
import zerostride as zs

threading.Thread(target=threading.Event().wait, daemon=True).start()    # as in a notebook: Python has other threads
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    while True:
        zs.evaluate("x.lgamma().lgamma().exp().sin()", out="y.npy", max_memory="4 MiB", force=True, x=zs.open("x.npy"))
except KeyboardInterrupt:
    print(sorted(os.listdir()))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that signals")
def test_ctrl_c_leaves_no_half_file(folder):
    np.save("x.npy", np.random.default_rng(0).random((300_000, 16)))
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=True)
    # The file of a run that was complete may be there, another one is not.
    assert done.stdout.strip() in ("['two.npz', 'x.npy']", "['two.npz', 'x.npy', 'y.npy']")


LIMITED = """
import resource
import numpy as np
import zerostride as zs

x = zs.open("large.npy")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
zs.evaluate("(x - x.mean(0)) / x.std(0)", out="y.npy", max_memory="32 MiB", x=x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_stays_within_its_limit(folder):
    pytest.importorskip("resource")
    rows = np.lib.format.open_memmap("large.npy", "w+", "f8", (2_000_000, 16))    # 256 MB
    rows[:] = np.arange(16.0) + np.arange(2_000_000)[:, None]
    del rows
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) < 64


@pytest.mark.parametrize(
    "anew",
    [
        lambda x: x.astype("i8"), lambda x: np.asfortranarray(x), lambda x: x[:-1], lambda x: np.concatenate([x, x]), lambda x: x[:0],
        lambda x: x.astype("f4"), lambda x: x + 1, lambda x: x.T,
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["x.npy", "x.npz:x"])
def test_a_file_that_is_written_anew_is_not_read_with_the_old_header(folder, path, anew):
    def write(x):
        np.save("x.npy", x) if path == "x.npy" else np.savez("x.npz", x=x)

    write(ROWS[:300])
    x = zs.open(path)
    mean, row = zs.evaluate("x.mean(0)", x=x), x[7]
    write(anew(ROWS[:300]))
    for read in [
        lambda: zs.evaluate("x.mean(0)", x=x), lambda: standardised(x), lambda: np.asarray(x), row.tolist, lambda: x.sum().item(),
        lambda: zs.evaluate(x * 2, out="y.npy"), lambda: zs.tensor(x),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="since it was opened; open it again|cut short"):
            read()
    assert not os.path.exists("y.npy")
    again = zs.open(path)
    np.testing.assert_allclose(np.asarray(again), anew(ROWS[:300]))
    assert mean.shape == (16,)


def test_archives_with_strangers_members_are_read(folder):
    import zipfile

    np.savez("x.npz", x=ROWS[:5], objects=np.array([{}, None], object), text=np.array(["a", "b"]))
    with zipfile.ZipFile("x.npz", "a") as archive:
        archive.writestr("readme.txt", "hello")
        archive.mkdir("folder")
        archive.writestr("packed.npy", b"\x93NUMPY", compress_type=zipfile.ZIP_LZMA)
        archive.writestr("broken.npy", b"no array at all")
        archive.writestr("x", b"called as the array is")
    np.testing.assert_array_equal(np.asarray(zs.open("x.npz:x")), ROWS[:5])
    for name, text in [
        ("objects", "pickle"), ("text", "is text"), ("readme.txt", "not a .npy member"), ("folder/", "not a .npy member"),
        ("packed", "ompression|nsupported"), ("broken", "not a .npy file"), ("none", "the file holds 5: `x`, `objects`, `text`, `packed`, `broken`"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            zs.open(f"x.npz:{name}")
    with zipfile.ZipFile("one.npz", "w") as archive:
        archive.write("x.npy")
        archive.writestr("readme.txt", "hello")
    np.testing.assert_array_equal(np.asarray(zs.open("one.npz")), ROWS)


def test_a_loss_over_a_file_and_its_gradient_read_it_once(folder):
    def loss(w, x):
        return ((x * w).sum(1) ** 2).mean()

    x, w, step = zs.open("x.npy"), np.linspace(0, 1, 16), zs.value_and_grad(loss)
    wanted = [np.asarray(part) for part in step(w, ROWS)]
    before = bytes_read()
    value, gradient = step(w, x)
    assert ROWS.nbytes <= bytes_read() - before < 1.3 * ROWS.nbytes
    assert [value.item(), gradient.tolist()] == [wanted[0].item(), wanted[1].tolist()]
    # By name, as evaluate() takes arrays.
    assert zs.evaluate(step, ("loss.npy", "gradient.npy"), max_memory="16 MiB", x=x, w=w) == ("loss.npy", "gradient.npy")
    assert [np.load("loss.npy").item(), np.load("gradient.npy").tolist()] == [value.item(), gradient.tolist()]
