"""Writes the Zarr stores that the reader is tested with, from zarr-python: `all.zarr` of version 3 and `version2.zarr`.

Run `python spec/golden/io/make_zarr.py` after `pip install numpy==2.4.6 zarr==3.1.6 numcodecs==0.16.6`. Elements are those of `make.py`:
byte j of an array is (37 * j + 11) mod 256, and bools keep its lowest bit. A few arrays say otherwise below.
"""

import shutil
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from numcodecs import zarr3
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

HERE = Path(__file__).parent
CODES = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
COMPRESSORS = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]
FILLS = {"nan": np.nan, "inf": np.inf, "minus-inf": -np.inf, "half-nan": np.nan, "one": 1, "true": True, "complex": complex(-np.inf, 2)}
CODE_OF_FILL = {"half-nan": "f2", "one": "i8", "true": "b1", "complex": "c8"}
LITTLE, BIG = BytesCodec(endian="little"), BytesCodec(endian="big")


def pattern(code, shape):
    dtype = np.dtype(code).newbyteorder("<")
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    data = np.array([(37 * j + 11) % 256 for j in range(size)], np.uint8)
    if dtype.kind == "b":
        data &= 1
    return data.view(dtype).reshape(shape)


def version3():
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
    for name in COMPRESSORS:
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            blosc = BloscCodec(cname=name, clevel=5, shuffle=shuffle, blocksize=1 << 11)
            add(f"blosc-{name}-{shuffle}", "f4", (40, 31), (40, 31), [LITTLE, blosc])
    add("blosc-many-blocks", "i2", (60, 120), (60, 60), [LITTLE, BloscCodec(cname="lz4", blocksize=1 << 10)])
    add("blosc-copied", "f8", (5, 7), (5, 7), [LITTLE, BloscCodec(cname="lz4", clevel=0)])
    add("blosc-bytes", "u1", (100, 9), (50, 9), [BytesCodec(), BloscCodec(cname="blosclz")])
    add("blosc-big", "f8", (30, 20), (30, 20), [BIG, BloscCodec(cname="zstd", shuffle="bitshuffle")])
    for name, codec in {
        "blosc": zarr3.Blosc(cname="lz4hc"),
        "bz2": zarr3.BZ2(level=9),
        "gzip": zarr3.GZip(level=1),
        "lz4": zarr3.LZ4(),
        "zlib": zarr3.Zlib(level=9),
        "zstd": zarr3.Zstd(level=19),
        "crc32c": zarr3.CRC32C(),
    }.items():
        add(f"numcodecs-{name}", "f8", (40, 30), (20, 30), [LITTLE, codec])
    add("numcodecs-shuffle", "f8", (40, 30), (20, 30), [LITTLE, zarr3.Shuffle(elementsize=8), zarr3.Zlib()])
    for code in ("i4", "u2", "f8"):
        value = np.arange(60, dtype=code).reshape(6, 10) ** 2
        for end in (LITTLE, BIG):
            add(f"delta-{code}-{end.endian.value}", code, None, (3, 10), [zarr3.Delta(dtype=code), end], value=value)
    add("packbits", "b1", (40,), (40,), [zarr3.PackBits(), BytesCodec()])
    for name, fill in FILLS.items():
        array = zarr.create(store=HERE / "all.zarr", path=f"fill-{name}", shape=(3,), chunks=(3,), dtype=CODE_OF_FILL.get(name, "f4"), fill_value=fill)
        assert np.array_equal(array[...], np.full(3, fill, array.dtype), equal_nan=array.dtype.kind in "fc")
    zarr.consolidate_metadata(HERE / "all.zarr/folder")


def version2():
    shutil.rmtree(HERE / "version2.zarr", ignore_errors=True)
    store = HERE / "version2.zarr"
    root = zarr.create_group(store, zarr_format=2)

    def add(path, code, shape, chunks, fill=0, value=None, compressor=None, **more):
        data = pattern(code, shape).astype(code) if value is None else value
        like = {"shape": data.shape, "chunks": chunks, "dtype": code, "fill_value": fill, "compressor": compressor, **more}
        zarr.create(store=store, path=path, zarr_format=2, **like)[...] = data

    for code in CODES:
        add(code, f"|{code}" if np.dtype(code).itemsize == 1 else f"<{code}", (2, 3, 4), (2, 3, 4))
        if np.dtype(code).itemsize > 1:
            add(f"{code}-big", f">{code}", (2, 3, 4), (2, 3, 4), order="F" if code == "i4" else "C")
    add("ragged", "<f4", (3, 4), (2, 3))
    add("slashes", "<f4", (3, 4), (2, 3), dimension_separator="/")
    add("fortran", "<i4", (2, 3, 4), (2, 2, 2), order="F")
    add("fortran-packed", "<f8", (40, 30), (20, 20), order="F", compressor=numcodecs.Blosc(cname="zstd", shuffle=1))
    for name in COMPRESSORS:
        for shuffle in (0, 1, 2):
            blosc = numcodecs.Blosc(cname=name, clevel=5, shuffle=shuffle, blocksize=1 << 11)
            add(f"blosc-{name}-{shuffle}", "<f8", (40, 31), (40, 31), compressor=blosc)
    for codec in (numcodecs.BZ2(), numcodecs.GZip(), numcodecs.LZ4(), numcodecs.Zlib(), numcodecs.Zstd(checksum=True)):
        add(codec.codec_id, "<f4", (40, 30), (20, 30), compressor=codec)
    add("shuffle", "<f8", (40, 30), (20, 30), filters=[numcodecs.Shuffle(8)], compressor=numcodecs.Zlib())
    add("crc32c", "<f8", (40, 30), (20, 30), filters=[numcodecs.CRC32C()])
    for code in ("<i4", ">i4", "|u1", "<f8"):
        value = np.arange(60, dtype=code).reshape(6, 10)
        name = code.strip("<|").replace(">", "big-")
        add(f"delta-{name}", code, None, (3, 10), value=value, filters=[numcodecs.Delta(code)])
        if code != "|u1":
            filters = [numcodecs.Delta(code, astype="i1"), numcodecs.Shuffle(2)]
            add(f"delta-{name}-narrow", code, None, (3, 10), value=value, filters=filters, order="F", compressor=numcodecs.LZ4())
    add("bitround", "<f4", None, (6, 10), value=np.arange(60, dtype="<f4").reshape(6, 10), filters=[numcodecs.BitRound(20)])
    holes = np.full((8, 6), 7.5, "f4")
    holes[2:4] = pattern("f4", (2, 6))
    add("holes", "<f4", None, (2, 3), fill=7.5, value=holes, compressor=numcodecs.Blosc())
    add("scalar", "<f8", (), ())
    add("empty", "<i2", (0, 3), (1, 3))
    root.create_group("folder").create_group("inner")
    add("folder/inner/deep", "|u1", (4,), (4,))
    for name, fill in FILLS.items():
        array = zarr.create(store=store, path=f"fill-{name}", zarr_format=2, shape=(3,), chunks=(3,), dtype=CODE_OF_FILL.get(name, "f4"), fill_value=fill)
        assert np.array_equal(array[...], np.full(3, fill, array.dtype), equal_nan=array.dtype.kind in "fc")
    zarr.create(store=store, path="fill-null", zarr_format=2, shape=(3,), chunks=(3,), dtype="f4", fill_value=None)
    add("text", "<U2", None, (2,), fill="", value=np.array(["ab", "c"]))
    add("date", "<M8[ns]", None, (2,), value=np.array([0, 1], "<M8[ns]"))
    add("scaled", "<f8", (4,), (4,), filters=[numcodecs.FixedScaleOffset(0, 10, "<f8", "<i4")], value=np.ones(4))
    add("lzma", "<f8", (4,), (4,), compressor=numcodecs.LZMA())
    zarr.consolidate_metadata(store)


if __name__ == "__main__":
    # Version 3 names numcodecs' codecs under protest, and some dtypes.
    warnings.simplefilter("ignore")
    version3()
    version2()
