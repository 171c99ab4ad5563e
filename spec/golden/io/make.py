"""Writes the files that the readers are tested with, from NumPy and the reference implementation of safetensors.

Run `python spec/golden/io/make.py` after `pip install numpy==2.4.6 safetensors==0.8.0 ml_dtypes==0.6.0`. The files hold
no times and no random numbers, so that the same versions write the same bytes.

Byte j of an array, counted in row-major order with the least significant byte of each number first, is
(37 * j + 11) mod 256; bools keep its lowest bit. A reader of a file knows every value without a second file, and a
wrong byte order, dimension order or offset shows.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
from numpy.lib import format as npy
from safetensors.numpy import save_file

HERE = Path(__file__).parent
CODES = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]


def pattern(dtype, shape):
    dtype = np.dtype(dtype).newbyteorder("<")
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    data = np.array([(37 * j + 11) % 256 for j in range(size)], np.uint8)
    if dtype.kind == "b":
        data &= 1
    return data.view(dtype).reshape(shape)


def big_endian(array):
    """The same values with the most significant byte first, no NaN's payload touched."""
    return array.byteswap().view(array.dtype.newbyteorder(">"))


def write_npy(name, array, version=None):
    with open(HERE / name, "wb") as file:
        npy.write_array(file, array, version)


def layouts(shape):
    """Every dtype in both byte orders and both orders of dimensions, and as a view that NumPy has to gather."""
    for code in CODES:
        array = pattern(code, shape)
        yield f"{code}-c", array
        yield f"{code}-f", np.asfortranarray(array)
        yield f"{code}-big-c", big_endian(array)
        yield f"{code}-big-f", np.asfortranarray(big_endian(array))
        every_other = np.repeat(array, 2, axis=-1)[..., ::2]
        yield f"{code}-strided", every_other


def main():
    array = pattern("f4", (2, 3))
    for major in (1, 2, 3):
        write_npy(f"v{major}.npy", array, (major, 0))
    write_npy("fortran.npy", np.asfortranarray(pattern("i4", (2, 3, 4))))
    write_npy("scalar.npy", pattern("f8", ()))
    write_npy("empty.npy", pattern("i2", (2, 0, 3)))
    write_npy("rank64.npy", pattern("u2", (1,) * 63 + (2,)))

    np.savez_compressed(HERE / "layouts.npz", **dict(layouts((2, 3, 4))))
    np.savez(
        HERE / "stored.npz",
        array,
        weight=pattern("c16", (2, 2)),
        **{"folder/ü": pattern("b1", (5,))},
    )
    np.savez(
        HERE / "unsupported.npz",
        object=np.array([None, 1], object),
        record=np.zeros(2, [("a", "<f4"), ("b", "<i2", (3,))]),
        text=np.array(["ab", "c"]),
        ascii=np.array([b"ab"]),
        bytes=np.zeros(2, "V3"),
        bfloat16=np.zeros(3, ml_dtypes.bfloat16),
        date=np.zeros(2, "M8[ns]"),
        long=np.zeros(2, np.longdouble),
        fine=array,
    )

    names = [code for code in CODES if code != "c16"]
    tensors = {code: pattern(code, (2, 3, 4)) for code in names}
    tensors["bfloat16"] = pattern("u2", (2, 3)).view(ml_dtypes.bfloat16)
    tensors["float8"] = pattern("u1", (4,)).view(ml_dtypes.float8_e4m3fn)
    tensors["scalar"] = pattern("f4", ())
    tensors["empty"] = pattern("f8", (0, 3))
    save_file(tensors, HERE / "all.safetensors", metadata={"format": "np"})
    del tensors["float8"]
    save_file(tensors, HERE / "plain.safetensors")


if __name__ == "__main__":
    main()
