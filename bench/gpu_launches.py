"""Runs launches of printed kernels on a GPU and compares memory with the tests' interpreter, bit for bit.

    ZEROSTRIDE_PTX_LAUNCHES=FOLDER cargo test -p zerostride-kernels --test kernels ptx
    python bench/gpu_launches.py FOLDER

The tests write each launch that they interpret: the kernel, its arguments, and all of memory before and
after. This program needs these files, NumPy and NVIDIA's driver, nothing else. Any NaN equals any other.
It has not been run on a GPU yet.
"""

import ctypes
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


def main():
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
