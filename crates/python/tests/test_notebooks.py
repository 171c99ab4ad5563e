"""The notebooks in docs/python/notebooks: they run, and print what they show."""

import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python" / "notebooks"


def shown(notebook):
    """What the cells print and return, as text; how much scratch memory a plan takes depends on the number of threads."""
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    texts = [[output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs] for cell in code]
    return [[re.sub(r"scratch at most \d+", "scratch at most ...", text) for text in cell] for cell in texts]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_print_what_they_show(path):
    nb_run = pytest.importorskip("nbmake.nb_run", reason="nbmake is not installed")
    nbformat = pytest.importorskip("nbformat")
    result = nb_run.NotebookRun(path, default_timeout=300).execute()
    assert result.error is None, result.error.trace
    assert shown(result.nb) == shown(nbformat.read(path, 4))
