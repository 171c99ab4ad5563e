"""Holds every function to hostile arguments: no crash, no panic, and nothing that neither ends nor hears an alarm."""

import os
import pathlib
import resource
import subprocess
import sys

import pytest

# Calls of a seed, and seeds; with ZEROSTRIDE_LONG=1 they are a million calls together.
CALLS = 500
SEEDS = 2000 if os.environ.get("ZEROSTRIDE_LONG") else 6
# Seconds for the calls of a seed: each is interrupted after a quarter of one, and few take as long.
PATIENCE = 240
# Bytes: less than the results that are asked for.
MEMORY = 6 << 30


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of memory and no alarms")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_call_crashes_panics_or_hangs(seed, tmp_path):
    note = tmp_path / "call"
    command = [sys.executable, pathlib.Path(__file__).with_name("adversary.py"), str(seed), str(CALLS)]
    environment = os.environ | {"ZEROSTRIDE_ADVERSARY": str(note), "PYTHONFAULTHANDLER": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=limited, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"no end and no ear for an alarm: {under_way(note)}")
    assert done.returncode == 0, f"{under_way(note)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def under_way(note):
    return note.read_bytes().rstrip(b"\0").decode(errors="replace")
