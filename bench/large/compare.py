"""An element-wise job on a file larger than memory: zs beside cat and other libraries, one process for each.

    python bench/large/compare.py FOLDER [--rows N] [--memory 256M]

FOLDER needs room for two copies of the output and one of the input, unless that is left sparse as it is by default.
Every program reads x (rows, 64) of f64 and writes x * 2 + 1 as f32, half the bytes, in its usual way, and flushes
the result to the disk; cat copies the input. Times are wall clock; memory is the largest resident set, and of it
what is not pages of files.
Needs NumPy; numexpr, dask, and xarray with zarr take part where they are installed.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = 1 << 16

JOBS = {
    "numpy memmap": """
import numpy as np
x = np.load('x.npy', mmap_mode='r')
y = np.lib.format.open_memmap('y.npy', 'w+', np.float32, x.shape)
for i in range(0, len(x), BLOCK):
    y[i:i + BLOCK] = x[i:i + BLOCK] * 2 + 1
y.flush()
""",
    "numexpr blocks": """
import numpy as np, numexpr
x = np.load('x.npy', mmap_mode='r')
y = np.lib.format.open_memmap('y.npy', 'w+', np.float32, x.shape)
for i in range(0, len(x), BLOCK):
    a = x[i:i + BLOCK]
    numexpr.evaluate('a * 2 + 1', out=y[i:i + BLOCK], casting='same_kind')
y.flush()
""",
    "dask array": """
import numpy as np, dask.array as da
x = np.load('x.npy', mmap_mode='r')
y = np.lib.format.open_memmap('y.npy', 'w+', np.float32, x.shape)
da.store((da.from_array(x, chunks=(BLOCK, -1)) * 2 + 1).astype(np.float32), y, lock=False)
y.flush()
""",
    "xarray to zarr": """
import numpy as np, xarray as xr, os
x = xr.DataArray(np.load('x.npy', mmap_mode='r'), dims=('row', 'column')).chunk({'row': BLOCK})
(x * 2 + 1).astype(np.float32).rename('y').to_zarr('y.zarr', mode='w')
os.sync()
""",
}
NEEDS = {"numexpr blocks": ["numexpr"], "dask array": ["dask"], "xarray to zarr": ["xarray", "zarr", "dask"]}


def sparse(path, rows):
    """An array of zeros that takes no room on the disk."""
    import numpy as np

    with open(path, "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (rows, 64)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + rows * 64 * 8)


def watch(process, peaks):
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        fields = dict(line.split(":", 1) for line in status.splitlines())
        for name in ("VmHWM", "RssAnon"):
            if name in fields:
                peaks[name] = max(peaks.get(name, 0), int(fields[name].split()[0]) / 1024)
        time.sleep(0.02)


def run(command, folder):
    """Seconds, and peaks in MiB."""
    for name in ("y.npy", "y.zarr"):
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    os.sync()
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder)
    peaks = {}
    watcher = threading.Thread(target=watch, args=(process, peaks))
    watcher.start()
    status = process.wait()
    seconds = time.monotonic() - started
    watcher.join()
    if status != 0:
        raise SystemExit(f"{command} ended with {status}")
    return seconds, peaks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=40_000_000, help="of 512 bytes each; 40 million are 20 GB")
    parser.add_argument("--memory", default="256M", help="what zs may hold, and its address space")
    parser.add_argument("--zs", type=Path, default=HERE.parents[1] / "target/release/zs")
    parser.add_argument("--only", default="", help="a part of the names of the programs to run")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    sparse(folder / "x.npy", arguments.rows)
    size = arguments.rows * 512
    limit = {"K": 1, "M": 1 << 10, "G": 1 << 20}[arguments.memory[-1]] * int(arguments.memory[:-1])
    zs = f"ulimit -v {limit}; exec {arguments.zs.resolve()} eval \"(x * 2 + 1).to('f32')\" x=x.npy -o y.npy"
    commands = {
        "cat": ["sh", "-c", "cat x.npy > y.npy"],
        "cat, then sync": ["sh", "-c", "cat x.npy > y.npy && sync y.npy"],
        f"zs in {arguments.memory}": ["sh", "-c", f"{zs} --max-memory {arguments.memory}"],
    }
    for name, code in JOBS.items():
        if all(importlib.util.find_spec(module) for module in NEEDS.get(name, [])):
            commands[name] = [sys.executable, "-c", f"BLOCK = {BLOCK}\n{code}"]
    print(f"{size / 1e9:.1f} GB in (sparse), {size / 2e9:.1f} GB out; cat copies {size / 1e9:.1f} GB")
    for name, command in commands.items():
        if arguments.only in name:
            seconds, peaks = run(command, folder)
            print(
                f"{name:16} {seconds:7.1f} s  {size / seconds / 1e9:5.2f} GB/s read  "
                f"resident {peaks.get('VmHWM', 0):7.0f} MiB, of it not of files {peaks.get('RssAnon', 0):7.0f} MiB",
                flush=True,
            )
    for path in (folder / "x.npy", folder / "y.npy"):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / "y.zarr", ignore_errors=True)


if __name__ == "__main__":
    main()
