"""Runs launches of printed kernels on a GPU and compares memory with the tests' interpreter, bit for bit.

    ZEROSTRIDE_PTX_LAUNCHES=FOLDER cargo test -p zerostride-kernels --test kernels ptx
    python bench/gpu.py FOLDER
    python bench/gpu.py --table [--tiny]

The tests write each launch that they interpret: the kernel, its arguments, and all of memory before and
after. This program needs these files, NumPy and NVIDIA's driver, nothing else. Any NaN equals any other.

With `--table` the package `zerostride` computes formulas on the CPU and on the GPU, whose bits are compared,
and the time on the GPU stands beside that of PyTorch, eager and compiled, where that is installed. `--tiny`
takes sizes for the emulated driver, whose times mean nothing:

    cargo build -p zerostride-emulator
    ZEROSTRIDE_CUDA=target/debug/libzerostride_emulator.so python bench/gpu.py --table --tiny

Neither has been run on a GPU yet.
"""

import ctypes
import functools
import json
import pathlib
import sys
import time

import numpy as np

THREADS = 256
# The bits of an element, those of its sign, and those that the magnitude of a NaN exceeds.
FLOATS = {
    "f16": (np.uint16, 0x8000, 0x7C00),
    "bf16": (np.uint16, 0x8000, 0x7F80),
    "f32": (np.uint32, 0x8000_0000, 0x7F80_0000),
    "f64": (np.uint64, 0x8000_0000_0000_0000, 0x7FF0_0000_0000_0000),
}


class Driver:
    """The functions of libcuda, whose errors are told."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            sys.exit(f"there is no NVIDIA driver here: {error}")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()} ({status})")

    def upload(self, data, behind):
        """Memory with these bytes, as much behind an aligned address: what to free, and where they are."""
        start = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(start), ctypes.c_size_t(len(data) + behind + 1))
        first = ctypes.c_uint64(start.value + behind)
        if data:
            self.call("cuMemcpyHtoD_v2", first, data, ctypes.c_size_t(len(data)))
        return start, first

    def download(self, first, count):
        data = ctypes.create_string_buffer(max(count, 1))
        if count:
            self.call("cuMemcpyDtoH_v2", data, first, ctypes.c_size_t(count))
        return data.raw[:count]

    def launch(self, text, entry, blocks, arguments):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text + b"\0")
        try:
            self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
            words = (ctypes.c_uint64 * len(arguments))(*arguments)
            parameters = (ctypes.c_void_p * 1)(ctypes.addressof(words))
            sizes = [ctypes.c_uint(size) for size in (blocks, 1, 1, THREADS, 1, 1, 0)]
            self.call("cuLaunchKernel", function, *sizes, None, parameters, None)
            self.call("cuCtxSynchronize")
        finally:
            self.call("cuModuleUnload", module)


def differences(kind, found, wanted, signs_open):
    """How many elements differ."""
    if kind not in FLOATS:
        found, wanted = (np.frombuffer(data, np.uint8) for data in (found, wanted))
        return int((found != wanted).sum())
    dtype, sign, infinity = FLOATS[kind]
    found, wanted = (np.frombuffer(data, dtype) for data in (found, wanted))
    magnitudes = [data & dtype(sign - 1) for data in (found, wanted)]
    are_nan = (magnitudes[0] > infinity) & (magnitudes[1] > infinity)
    differ = magnitudes[0] != magnitudes[1] if signs_open else found != wanted
    return int((differ & ~are_nan).sum())


def replay(driver, path):
    """Runs a launch; returns its label, and how many elements differ of how many bytes."""
    with open(path, "rb") as file:
        header = json.loads(file.readline())
        text = file.read(header["text"])
        pieces = [(int(address, 16), count, kind) for address, count, kind in header["pieces"]]
        before = [file.read(count) for _, count, _ in pieces]
        after = [file.read(count) for _, count, _ in pieces]
    # The upper half of an address says which piece it is in.
    places = [
        driver.upload(data, address & 0xFFFF_FFFF) for data, (address, _, _) in zip(before, pieces)
    ]
    try:
        starts = {address >> 32: start.value for (address, _, _), (start, _) in zip(pieces, places)}
        words = [int(word, 16) for word in header["arguments"]]
        words = [starts.get(word >> 32, word >> 32 << 32) + (word & 0xFFFF_FFFF) for word in words]
        if header["blocks"]:
            driver.launch(text, header["entry"], header["blocks"], words)
        count = 0
        for (_, first), (_, size, kind), wanted in zip(places, pieces, after):
            count += differences(kind, driver.download(first, size), wanted, header["signs_open"])
    finally:
        for start, _ in places:
            driver.call("cuMemFree_v2", start)
    return header["label"], count, sum(map(len, after))


def pairs(m, a, b):
    return ((a[:, None] - b[None]) ** 2).sum(-1)


def layer_norm(m, x):
    centred = x - x.mean(1, keepdim=True)
    return centred / m.sqrt((centred * centred).mean(1, keepdim=True) + 1e-5)


# The name, the shapes of the operands, and the formula, which both libraries understand.
TABLE = [
    ("copy", [(8192, 8192)], lambda m, x: x.clone()),
    ("x + row * col", [(8192, 8192), (1, 8192), (8192, 1)], lambda m, x, row, col: x + row * col),
    ("pairs", [(8192, 16), (8192, 16)], pairs),
    ("rbf sum", [(8192, 16), (8192, 16)], lambda m, a, b: m.exp(-pairs(m, a, b)).sum(1)),
    ("softmax", [(8192, 8192)], lambda m, x: m.softmax(x, 1)),
    ("layer norm", [(8192, 8192)], layer_norm),
    ("product", [(4096, 4096), (4096, 4096)], lambda m, x, y: x @ y),
    ("x.sum(1)", [(4096, 5000)], lambda m, x: x.sum(1)),
]
TINY = {8192: 48, 5000: 1100, 4096: 6}
# How long a formula is repeated for a time, and how often.
SECONDS, REPEATS = 0.2, 5


def milliseconds(call, wait):
    """The shortest of some means."""
    def measured(count):
        wait()
        began = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - began) / count

    call()
    count = max(1, int(SECONDS / max(measured(1), 1e-6)))
    return 1000 * min(measured(count) for _ in range(REPEATS))


def table(tiny):
    import zerostride as zs

    try:
        import torch
    except ImportError:
        torch = None
    torch = torch if torch is not None and torch.cuda.is_available() else None
    one = zs.zeros(1).cuda()
    waits = {"zerostride": one.tolist, "torch": torch.cuda.synchronize if torch else None}
    print(f"{'ms':>16}" + "".join(f"{name:>14}" for name in ("zerostride", "eager", "compiled", "bits differ")))
    bad = 0
    for name, shapes, formula in TABLE:
        shapes = [tuple(TINY.get(size, size) if tiny else size for size in shape) for shape in shapes]
        operands = [zs.rand(*shape, seed=1 + place) * 2 - 1 for place, shape in enumerate(shapes)]
        moved = [operand.cuda() for operand in operands]
        eager = functools.partial(formula, zs)
        run = eager if name == "copy" else zs.fuse(eager)
        found, wanted = run(*moved).cpu().numpy(), run(*operands).numpy()
        differ = differences("f32", found.tobytes(), wanted.tobytes(), False)
        bad += differ > 0
        times = [milliseconds(lambda: run(*moved), waits["zerostride"])]
        if torch:
            theirs = [torch.from_numpy(operand.numpy()).cuda() for operand in operands]
            for own in (formula, torch.compile(lambda m, *operands: formula(m, *operands))):
                times.append(milliseconds(lambda: own(torch, *theirs), waits["torch"]))
        cells = [f"{number:.4f}" for number in times] + ["-"] * (3 - len(times)) + [f"{differ} of {wanted.size}"]
        print(f"{name:>16}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
    sys.exit(bad > 0)


def main():
    if sys.argv[1:2] == ["--table"]:
        table("--tiny" in sys.argv[2:])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.launch"))
    if not paths:
        sys.exit(f"{sys.argv[1]} has no launches (*.launch); the tests write them:\n{__doc__}")
    driver, began, compared, bad = Driver(), time.monotonic(), 0, 0
    for path in paths:
        try:
            label, count, size = replay(driver, path)
        except RuntimeError as error:
            label, count, size = f"{path.name}: {error}", 1, 0
        compared += size
        bad += count > 0
        if count:
            print(f"{count} elements differ: {label}")
    seconds = time.monotonic() - began
    print(f"{driver.name}: {len(paths)} launches in {seconds:.0f} s, {compared} bytes compared, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
