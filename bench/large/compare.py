"""An element-wise job on a file larger than memory: zs beside cat and other libraries, in one run.

    python bench/large/compare.py FOLDER [--rows N] [--memory 256M] [--minutes 12] [--record FILE]

Every program reads x (rows, 64) of f64 and writes x * 2 + 1 as f32, half the bytes, in its usual way, and flushes the
result to the disk; cat copies the input, and is then flushed. One process at a time, in the order of the table, with
the page cache dropped before each where the system allows it (root). Times are wall clock; memory is the largest
resident set, and of it what is not pages of files. Each result is compared with NumPy's at a few places.

FOLDER needs room for two copies of the input, which holds random numbers and is removed afterwards (`--sparse` makes
one of zeros that takes no room). A program that would exceed its share of the minutes is stopped, and the table says how
far it was; if time is left, cat and zs run once more. `--record` writes the tables to a file in Markdown.
Needs NumPy; numexpr, dask, and xarray with zarr take part where they are installed, and zs writes Zarr if it was built
with that feature.
"""

import argparse
import importlib.util
import os
import platform
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = 1 << 16
COLUMNS = 64
ROW = COLUMNS * 8

JOBS = {
    "numexpr, memory maps in blocks": """
import numpy as np, numexpr
x = np.load('x.npy', mmap_mode='r')
y = np.lib.format.open_memmap('y.npy', 'w+', np.float32, x.shape)
for i in range(0, len(x), BLOCK):
    a = x[i:i + BLOCK]
    numexpr.evaluate('a * 2 + 1', out=y[i:i + BLOCK], casting='same_kind')
y.flush()
""",
    "NumPy, memory maps in blocks": """
import numpy as np
x = np.load('x.npy', mmap_mode='r')
y = np.lib.format.open_memmap('y.npy', 'w+', np.float32, x.shape)
for i in range(0, len(x), BLOCK):
    y[i:i + BLOCK] = x[i:i + BLOCK] * 2 + 1
y.flush()
""",
    "Dask array": """
import numpy as np, dask.array as da
x = np.load('x.npy', mmap_mode='r')
y = np.lib.format.open_memmap('y.npy', 'w+', np.float32, x.shape)
da.store((da.from_array(x, chunks=(BLOCK, -1)) * 2 + 1).astype(np.float32), y, lock=False)
y.flush()
""",
    "xarray to Zarr": """
import numpy as np, xarray as xr, os
x = xr.DataArray(np.load('x.npy', mmap_mode='r'), dims=('row', 'column')).chunk({'row': BLOCK})
(x * 2 + 1).astype(np.float32).rename('y').to_zarr('y.zarr', mode='w')
os.sync()
""",
}
NEEDS = {"numexpr, memory maps in blocks": ["numexpr"], "Dask array": ["dask"], "xarray to Zarr": ["xarray", "zarr", "dask"]}


def make_input(path, rows, is_sparse):
    """Random numbers, a block of which is repeated, or zeros that take no room."""
    import numpy as np

    block = np.random.default_rng(1).random((BLOCK, COLUMNS))
    with open(path, "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (rows, COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        if is_sparse:
            file.truncate(file.tell() + rows * ROW)
            return
        for start in range(0, rows, BLOCK):
            block[:, 0] = start
            file.write(block[: rows - start].data)
        os.fsync(file.fileno())


def check(folder):
    """Whether the result is right, at a few indices."""
    import numpy as np

    x = np.load(folder / "x.npy", mmap_mode="r")
    if (folder / "y.npy").exists():
        y = np.load(folder / "y.npy", mmap_mode="r")
    else:
        import zarr

        y = zarr.open(folder / "y.zarr", mode="r")
        y = y if hasattr(y, "shape") else y["y"]
    for start in [0, len(x) // 3, len(x) - 10]:
        expected = (x[start : start + 10] * 2 + 1).astype(np.float32)
        assert y.shape == x.shape and np.array_equal(np.asarray(y[start : start + 10]), expected), start


def drop_caches():
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
        return True
    except OSError:
        return False


def watch(process, peaks):
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        for name in ("VmHWM", "RssAnon"):
            if name in fields:
                peaks[name] = max(peaks.get(name, 0), int(fields[name].split()[0]) / 1024)
        time.sleep(0.02)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def run(command, folder, limit):
    """Seconds, peaks in MiB, and whether it came to its end."""
    for path in [folder / "y.npy", folder / "y.zarr", *folder.glob(".zerostride-*.tmp")]:
        remove(path)
    drop_caches()
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, start_new_session=True)
    peaks = {}
    watcher = threading.Thread(target=watch, args=(process, peaks))
    watcher.start()
    try:
        status = process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
    seconds = time.monotonic() - started
    watcher.join()
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"{command} ended with {status}")
    return seconds, peaks, status == 0


def written(folder):
    """Bytes on the disk, or still in memory, that a stopped program has written."""
    files = [folder / "y.npy", *(folder / "y.zarr").rglob("*")]
    return sum(path.stat().st_blocks * 512 for path in files if path.is_file())


def programs(arguments, folder):
    units = {"K": 1, "M": 1 << 10, "G": 1 << 20}
    limit = units[arguments.memory[-1]] * int(arguments.memory[:-1])
    binary = arguments.zs.resolve()

    def zs(output, more=""):
        line = f"{binary} eval \"(x * 2 + 1).to('f32')\" x=x.npy -o {output} --quiet --max-memory {arguments.memory} {more}"
        return ["sh", "-c", f"ulimit -v {limit}; exec {line}"]

    cat, own = "`cat x > y && sync y`", f"zs in {arguments.memory}"
    commands = {cat: ["sh", "-c", "cat x.npy > y.npy && sync y.npy"], own: zs("y.npy")}
    for name, code in JOBS.items():
        if all(importlib.util.find_spec(module) for module in NEEDS.get(name, [])):
            commands[name] = [sys.executable, "-c", f"BLOCK = {BLOCK}\n{code}"]
    probe = subprocess.run([binary, "eval", "1", "-o", folder / "probe.zarr"], capture_output=True)
    remove(folder / "probe.zarr")
    if probe.returncode == 0:
        commands[f"zs to Zarr in {arguments.memory}"] = zs("y.zarr")
        commands[f"zs to Zarr, not packed, in {arguments.memory}"] = zs("y.zarr", "--compress none")
    return commands, cat, own


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB of memory"


def table(rows, size, reference):
    """In Markdown. The ratio is that of times, so more is better."""
    yield "| program | seconds | of `cat`'s speed | bytes read per second | resident | of it not files | |"
    yield "|---|---|---|---|---|---|---|"
    for name, seconds, peaks, remark in rows:
        memory = [f"{peaks.get(key, 0):.0f} MiB" for key in ("VmHWM", "RssAnon")]
        ratio, rate = ("", "") if remark else (f"{reference / seconds:.2f}", f"{size / seconds / 1e9:.2f} GB")
        yield f"| {name} | {seconds:.1f} | {ratio} | {rate} | {memory[0]} | {memory[1]} | {remark} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=40_000_000, help="of 512 bytes each; 40 million are 20 GB")
    parser.add_argument("--memory", default="256M", help="what zs may hold, and its address space")
    parser.add_argument("--minutes", type=float, default=12, help="for everything, the making of the input included")
    parser.add_argument("--sparse", action="store_true", help="an input of zeros that takes no room on the disk")
    parser.add_argument("--record", type=Path, help="a file for the tables, in Markdown")
    parser.add_argument("--zs", type=Path, default=HERE.parents[1] / "target/release/zs")
    parser.add_argument("--only", default="", help="a part of the names of the programs to run")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    size = arguments.rows * ROW
    free = shutil.disk_usage(folder).free
    if free < size * (1 if arguments.sparse else 2) + (1 << 30):
        raise SystemExit(f"{folder} has {free / 1e9:.1f} GB free, which is not enough for {size / 1e9:.1f} GB twice")
    deadline = time.monotonic() + 60 * arguments.minutes
    load = os.getloadavg()[0]
    try:
        make_input(folder / "x.npy", arguments.rows, arguments.sparse)
        dropped = drop_caches()
        commands, cat, own = programs(arguments, folder)
        commands = {name: command for name, command in commands.items() if arguments.only in name}
        print(f"{size / 1e9:.1f} GB in, {size / 2e9:.1f} GB out; cat copies {size / 1e9:.1f} GB", flush=True)
        results, order = [], list(commands)
        for place, name in enumerate([*order, *(again for again in (cat, own) if again in order)]):
            is_again = place >= len(order)
            left = deadline - time.monotonic()
            if is_again and left < 3 * max(seconds for known, seconds, *_ in results if known == name):
                continue
            seconds, peaks, is_done = run(commands[name], folder, max(left / max(1, len(order) - place), 10))
            remark = "" if is_done else f"stopped after {written(folder) / 1e9:.1f} of {size / 2e9:.1f} GB"
            if is_done and name != cat:
                check(folder)
            results.append((name + (", again" if is_again else ""), seconds, peaks, remark))
            print(f"{results[-1][0]:40} {seconds:7.1f} s  resident {peaks.get('VmHWM', 0):7.0f} MiB  {remark}", flush=True)
    finally:
        for path in [folder / "x.npy", folder / "y.npy", folder / "y.zarr", *folder.glob(".zerostride-*.tmp")]:
            remove(path)
    cats = [seconds for name, seconds, *_ in results if name.startswith(cat)]
    head = (
        f"`compare.py --rows {arguments.rows} --memory {arguments.memory}`"
        + f"{' --sparse' if arguments.sparse else ''} on {date.today()}: {machine()}; load at the start {load:.1f}. "
        + f"{size / 1e9:.1f} GB in{' (sparse)' if arguments.sparse else ''}, {size / 2e9:.1f} GB out; `cat` copies "
        + f"{size / 1e9:.1f} GB. The page cache was {'' if dropped else 'not '}dropped before each program. zs ran with "
        + f"`--max-memory {arguments.memory}` and as much address space (`ulimit -v`)."
    )
    lines = [
        *textwrap.wrap(head, 110, break_on_hyphens=False),
        "",
        *table(results, size, sum(cats) / len(cats) if cats else 0),
    ]
    print("\n".join(lines))
    if arguments.record:
        arguments.record.write_text("# Files larger than memory\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
