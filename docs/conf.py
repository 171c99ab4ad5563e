"""How Sphinx makes the site of `cargo xtask docs` from the documents of this repository, as they stand."""

import fnmatch
import json
import re

project = "zerostride"
author = copyright = "the zerostride authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_css_files = ["site.css"]
html_static_path = ["site"]
html_title = "zerostride"
html_copy_source = False
html_show_sphinx = False

# The repository is the source: links between documents are the same there and here.
root_doc = "README"
include_patterns = [
    "*.md",
    "bench/NOTES.md",
    "bench/torch_models.md",
    "bench/records/**.md",
    "bench/large/record.md",
    "crates/python/README.md",
    "docs/**.md",
    "docs/python/notebooks/*.ipynb",
    "examples/**.md",
    "spec/*.md",
]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
myst_heading_anchors = 4
# The side bar: a title, and the documents below it.
CONTENTS = {
    "Begin": ["docs/start", "docs/questions", "docs/compared", "docs/python/notebooks/*", "examples/**"],
    "Python": ["crates/python/README", "docs/python/gradients", "docs/python/guard", "docs/python/mistakes"],
    "Coming from": [
        "docs/python/numpy",
        "docs/python/pytorch",
        "docs/python/numexpr",
        "docs/python/einsum",
        "docs/python/keops",
        "docs/python/dask",
        "docs/python/neighbours",
        "docs/ndarray",
        "docs/candle",
    ],
    "Rust, shell, files": ["docs/rust", "docs/shell", "docs/files", "docs/gpu", "docs/systems"],
    "Reference": ["docs/python/reference", "docs/operations", "docs/accuracy", "CHANGELOG"],
    "Rules": ["spec/broadcasting", "spec/promotion", "spec/in_place", "spec/evaluation", "spec/*"],
}
# Reached by links from other documents, not from the side bar.
LINKED = ["ARCHITECTURE", "DESIGN", "CONTRIBUTING", "RELEASING", "bench/*"]


PAGE = '\n<p><a href="page/index.html">Type shapes into the page, and it explains their broadcast.</a></p>\n'


def notebook(text):
    """A notebook as Markdown: its texts, its code, and what it printed or drew."""
    pieces = []
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "markdown":
            pieces.append("".join(cell["source"]))
            continue
        pieces.append("```python\n" + "".join(cell["source"]) + "\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "text/html" in data:
                pieces.append("```{raw} html\n" + "".join(data["text/html"]) + "\n```")
            else:
                pieces.append("```text\n" + "".join(data["text/plain"]) + "\n```")
    return "\n\n".join(pieces)


def prepare(app, document, source):
    """Leaves out what examples have for their tests alone, and gives the front page the side bar's contents."""
    if str(app.env.doc2path(document)).endswith(".ipynb"):
        source[0] = notebook(source[0])
    if any(fnmatch.fnmatch(document, pattern) for pattern in LINKED):
        source[0] = "---\norphan: true\n---\n\n" + source[0]
    source[0] = re.sub(r"(?ms)^```rust\b.*?^```$", lambda block: re.sub(r"(?m)^# .*\n", "", block[0]), source[0])
    # A highlighter would take what `zs` prints for a shell's language.
    source[0] = source[0].replace("```console", "```text").replace("```rust,no_run", "```rust")
    if document == root_doc:
        if app.tags.has("page"):
            source[0] += PAGE
        for title, documents in CONTENTS.items():
            lines = "\n".join(documents)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {title}\n\n{lines}\n```\n"


def setup(app):
    app.connect("source-read", prepare)
