"""Writes the Zarr store that the reader is tested with, from zarr-python.

Run `python spec/golden/io/make_zarr.py` after `pip install numpy==2.4.6 zarr==3.1.6`. Elements are those of `make.py`:
byte j of an array is (37 * j + 11) mod 256, and bools keep its lowest bit. A few arrays say otherwise below.
"""

import shutil
from pathlib import Path

import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

HERE = Path(__file__).parent
CODES = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
LITTLE, BIG = BytesCodec(endian="little"), BytesCodec(endian="big")


def pattern(code, shape):
    dtype = np.dtype(code).newbyteorder("<")
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    data = np.array([(37 * j + 11) % 256 for j in range(size)], np.uint8)
    if dtype.kind == "b":
        data &= 1
    return data.view(dtype).reshape(shape)


def main():
    shutil.rmtree(HERE / "all.zarr", ignore_errors=True)
    root = zarr.create_group(HERE / "all.zarr")

    def add(path, code, shape, chunks, codecs=(LITTLE,), fill=0, value=None, **more):
        data = pattern(code, shape) if value is None else value
        like = {"shape": data.shape, "chunks": chunks, "dtype": data.dtype, "fill_value": fill, **more}
        zarr.create(store=HERE / "all.zarr", path=path, codecs=list(codecs), **like)[...] = data

    for code in CODES:
        add(code, code, (2, 3, 4), (2, 3, 4))
        if np.dtype(code).itemsize > 1:
            add(f"{code}-big", code, (2, 3, 4), (2, 3, 4), [BIG])
    add("ragged", "f4", (3, 4), (2, 3))
    add("dots", "f4", (3, 4), (2, 3), chunk_key_encoding=("default", "."))
    add("keys-v2", "f4", (3, 4), (2, 3), chunk_key_encoding=("v2", "."))
    add("fortran", "i4", (2, 3, 4), (2, 2, 2), [TransposeCodec(order=(2, 1, 0)), LITTLE])
    add("turned", "i4", (2, 3, 4), (2, 2, 2), [TransposeCodec(order=(1, 2, 0)), BIG])
    add("gzip", "f8", (3, 4), (2, 3), [LITTLE, GzipCodec(level=9)])
    add("zstd", "f8", (3, 4), (2, 3), [LITTLE, ZstdCodec(level=3, checksum=True)])
    add("checked", "f8", (3, 4), (2, 3), [LITTLE, ZstdCodec(), Crc32cCodec()])
    add("checksum", "f8", (3, 4), (2, 4), [LITTLE, Crc32cCodec()])
    for place in ("start", "end"):
        shards = ShardingCodec(chunk_shape=(2, 3), codecs=[LITTLE, ZstdCodec()], index_location=place)
        add(f"shards-{place}", "f4", (9, 7), (4, 6), [shards])
    # Half of it is not there, and is 7.5.
    holes = np.full((8, 6), 7.5, "f4")
    holes[2:4] = pattern("f4", (2, 6))
    add("holes", "f4", None, (2, 3), fill=7.5, value=holes)
    shards = ShardingCodec(chunk_shape=(2, 3), codecs=[LITTLE])
    add("holes-in-shards", "f4", None, (4, 6), [shards], fill=7.5, value=holes)
    add("scalar", "f8", (), ())
    add("empty", "i2", (0, 3), (1, 3))
    root.create_group("folder").create_group("inner")
    add("folder/inner/deep", "u1", (4,), (4,))
    root.create_array("text", data=np.array(["ab", "c"]))
    root.create_array("blosc", data=pattern("f4", (4,)), compressors=zarr.codecs.BloscCodec())


if __name__ == "__main__":
    main()
