"""Writing the corpus: JSON with one case per line, and NPZ with the same bytes on every run.

Owns the file formats and the provenance header. Knows nothing of operations.
"""

import io
import json
import pathlib
import zipfile

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
# The keys of a case whose values are integers that few cases share: places, counts, distances.
NUMBERS = ("at", "n", "error", "reference", "stepwise", "ulp")


def provenance(script, **more):
    """The header of every file: who answered, with which versions, and which script asked."""
    header = {
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "device": "cpu, x86-64, " + torch.backends.cpu.get_cpu_capability(),
        "script": "spec/golden/" + script,
    }
    header.update(more)
    return header


def compact(value):
    """One line of strict JSON: infinities and NaN never appear as numbers."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def write_json(name, header, sections):
    """Write `{"provenance": header, section: ...}`, one element of a section on each line."""
    parts = ['"provenance":' + json.dumps(header, indent=1, ensure_ascii=False)]
    for key, value in sections.items():
        if isinstance(value, list):
            lines = ",\n".join(compact(item) for item in value)
            body = f"[\n{lines}\n]" if value else "[]"
        elif isinstance(value, dict):
            lines = ",\n".join(f"{compact(k)}:{compact(v)}" for k, v in value.items())
            body = f"{{\n{lines}\n}}" if value else "{}"
        else:
            body = compact(value)
        parts.append(f"{compact(key)}:{body}")
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    json.loads(text)
    (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{name}: {len(text):,} bytes", flush=True)


def tabulated(cases):
    """Cases as lists of integers: the sections `layouts`, `values` and `cases` (spec/README.md).

    As objects they repeat their keys, names and keywords ten thousand times.
    """
    layouts, values = {}, {}
    rows = []
    for case in cases:
        shared = [key for key in case if key not in NUMBERS]
        own = [key for key in case if key in NUMBERS]
        row = [layouts.setdefault(compact([shared, own]), len(layouts))]
        row += [values.setdefault(compact(case[key]), len(values)) for key in shared]
        rows.append(row + [case[key] for key in own])
    return {
        "layouts": [json.loads(layout) for layout in layouts],
        "values": [json.loads(value) for value in values],
        "cases": rows,
    }


def write_npz(name, arrays):
    """Write little-endian C-order arrays as a deflated NPZ without time stamps."""
    with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key, array in arrays.items():
            array = numpy.ascontiguousarray(array)
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            member = io.BytesIO()
            numpy.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(key + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, member.getvalue())
    print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes", flush=True)


def number(value):
    """A Python number as JSON: an integer, or a tagged form where JSON has none."""
    if isinstance(value, bool) or isinstance(value, int) or value is None or isinstance(value, str):
        return value
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    return {"float": value.hex()}
