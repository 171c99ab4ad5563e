"""The picture of a report in docs/python/guard.md: what pytest prints for a project with two mistakes, drawn as it was printed.

    python crates/python/tests/report_picture.py

writes it again; ``test_guard_pytest.py`` says when that is necessary.
"""

import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PICTURE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python" / "guard_report.svg"

PROJECT = {
    "pyproject.toml": """
[tool.pytest.ini_options]
broadcasts = "report"
""",
    "model.py": """
import numpy as np

def loss(output, target):
    return ((output - target) ** 2).mean()

def accuracy(scores, labels):
    return (scores.argmax(-1) == labels).mean()
""",
    "test_model.py": """
import numpy as np
from model import accuracy, loss

def test_loss():
    assert loss(np.ones((32, 1)), np.ones(32)) == 0

def test_accuracy():
    assert accuracy(np.ones((32, 10)), np.zeros((32, 1), int)) == 1
""",
}

STYLE = (
    "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1d2129;white-space:pre}.paper{fill:#f6f8fa;stroke:#d0d7de}"
    ".bold{font-weight:600}.green{fill:#1a7f37}.red{fill:#cf222e}.yellow{fill:#9a6700}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#161b22;stroke:#30363d}.green{fill:#3fb950}"
    ".red{fill:#ff7b72}.yellow{fill:#d29922}}"
)
CHARACTER, LINE, MARGIN = 7.83, 19, 16
COLOURS = {"1": "bold", "31": "red", "32": "green", "33": "yellow"}


def printed():
    """What a terminal of 100 columns gets from the plugin: the rest differs from one pytest to the next."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROJECT.items():
            pathlib.Path(folder, name).write_text(text.lstrip())
        environment = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS", "PYTEST_ADDOPTS")}
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--color=yes", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=folder, env=environment | {"COLUMNS": "100"}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    lines = done.stdout.rstrip().splitlines()
    start = next(number for number, line in enumerate(lines) if "implicit broadcasts" in line)
    return lines[start:-1]


def drawn(lines):
    """Lines with a terminal's escape sequences, as SVG."""
    lines = ["\x1b[1m$ pytest -q\x1b[0m", *lines]
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    width = round(2 * MARGIN + CHARACTER * max(map(len, plain)))
    height = 2 * MARGIN + LINE * len(lines)
    texts = [f'<text x="{MARGIN}" y="{MARGIN + LINE * number + 13}">{_spans(line)}</text>' for number, line in enumerate(lines) if line]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            'aria-label="A report of pytest about two implicit broadcasts">',
            f"<style>{STYLE}</style>",
            f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6" class="paper"/>',
            *texts,
            "</svg>\n",
        ]
    )


def _spans(line):
    """The text of a line, in the colours that escape sequences say."""
    first, *rest = re.split(r"\x1b\[([0-9;]*)m", line)
    spans, classes = [html.escape(first, quote=False)], []
    for codes, text in zip(rest[::2], rest[1::2], strict=True):
        for code in codes.split(";"):
            classes = [*dict.fromkeys([*classes, COLOURS[code]])] if code in COLOURS else []
        text = html.escape(text, quote=False)
        if text:
            spans.append(f'<tspan class="{" ".join(classes)}">{text}</tspan>' if classes else text)
    return "".join(spans)


if __name__ == "__main__":
    PICTURE.write_text(drawn(printed()))
