"""How Sphinx makes the site of `cargo xtask docs` from the documents of this repository, as they stand."""

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
    "examples/**.md",
    "spec/*.md",
]
exclude_patterns = ["docs/python/notebooks/**"]
myst_heading_anchors = 4
# The side bar: a title, and the documents below it.
CONTENTS = {
    "Guides": [
        "crates/python/README",
        "docs/python/numpy",
        "docs/python/pytorch",
        "docs/python/numexpr",
        "docs/python/[!r]*",
        "docs/rust",
        "docs/shell",
        "docs/files",
        "docs/systems",
        "examples/**",
    ],
    "Reference": ["docs/operations", "docs/python/reference", "docs/accuracy", "CHANGELOG"],
    "Rules": ["spec/broadcasting", "spec/promotion", "spec/in_place", "spec/evaluation", "spec/*"],
    "Inside": ["ARCHITECTURE", "DESIGN", "CONTRIBUTING", "RELEASING"],
    "Speed": ["bench/records/*/record", "bench/large/record", "bench/torch_models", "bench/NOTES"],
}


PAGE = '\n<p><a href="page/index.html">Type shapes into the page, and it explains their broadcast.</a></p>\n'


def prepare(app, document, source):
    """Leaves out what examples have for their tests alone, and gives the front page the side bar's contents."""
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
