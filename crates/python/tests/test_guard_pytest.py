"""The pytest plugin and ``python -m zerostride.guard``, as projects use them that know nothing of zerostride."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import numpy  # noqa: F401: a module of C is imported once in a process, and tests run in this one
import pytest
import report_picture
import zerostride  # noqa: F401

pytest_plugins = ["pytester"]

MODEL = """
import numpy as np

def loss(output, target):
    return ((output - target) ** 2).mean()
"""

TESTS = """
import numpy as np
import pytest
from model import loss

def test_mistaken():
    assert loss(np.ones((32, 1)), np.ones(32)) == 0

def test_innocent():
    table = np.arange(3)[:, None] * np.arange(4)
    assert loss(np.ones(32), np.ones(32)) == 0
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """A project with one mistake, outside of any CI service."""
    for variable in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)
    pytester.makepyfile(model=MODEL, test_model=TESTS)
    return pytester


def run(project, *arguments):
    return project.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def run_alone(project, *arguments):
    """In a process that has imported nothing yet."""
    return project.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_a_report_names_line_shapes_and_repairs(project):
    result = run(project, "--broadcasts=report", "--junitxml=junit.xml", "--broadcasts-output=found.json")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "1 broadcast that was probably not meant",
            "model.py:4: numpy.sub of [[]32, 1[]] and [[]32[]] broadcasts to [[]32, 32[]], larger than every operand",
            "    return ((output - target) ** 2).mean()",
            "    to combine them element by element: output.squeeze(-1) or target[[]..., None[]]",
            "    met by test_model.py::test_mistaken",
        ]
    )
    assert "::warning" not in result.stdout.str()
    properties = xml.etree.ElementTree.parse(project.path / "junit.xml").iter("property")
    assert [found.get("name") for found in properties] == ["broadcast"]
    (mistake,) = json.loads((project.path / "found.json").read_text())["mistakes"]
    assert (mistake["file"], mistake["line"], mistake["function"], mistake["shapes"]) == ("model.py", 4, "loss", [[32, 1], [32]])


def test_the_worst_comes_first(project):
    project.makepyfile(
        test_more="""
        import numpy as np

        def test_larger():
            np.ones((320, 1)) + np.ones(320)
        """
    )
    found = run(project, "--broadcasts=report").stdout.str()
    assert 0 < found.index("test_more.py:4: ") < found.index("model.py:4: ")


def test_an_error_fails_the_tests_that_meet_it(project):
    result = run(project, "--broadcasts=error")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_model.py::test_mistaken*"])
    assert sum("larger than every operand" in line for line in result.outlines) == 1
    project.makepyfile(conftest="import numpy as np\ntable = np.ones((3, 1)) - np.ones(3)\n")
    both = run(project, "--broadcasts=error").outlines
    assert sum("larger than every operand" in line for line in both) == 2
    assert "1 shown above, with the tests that failed; the others:" in both


def test_one_line_is_one_mistake_whatever_the_sizes_are(project):
    project.makepyfile(
        test_model="""
        import numpy as np
        from model import loss

        def test_batches():
            for size in (8, 9, 10):
                loss(np.ones((size, 1)), np.ones(size))
            for batch in (2, 3):
                loss(np.ones((batch, 8, 1)), np.ones(8))
        """
    )
    result = run(project, "--broadcasts=report")
    result.stdout.fnmatch_lines(["2 broadcasts that were probably not meant", "*in loss, 2 times*", "*in loss, 3 times*"])


def test_a_failed_test_is_told_its_own_operation_and_shapes(project):
    project.makepyfile(
        test_model="""
import numpy as np
import pytest
from model import loss

def test_numpy():
    loss(np.ones((32, 1)), np.ones(32))

@pytest.mark.parametrize("n", [2, 3])
def test_sizes(n):
    for _ in range(n):
        loss(np.ones((n, 1)), np.ones(n))
"""
    )
    result = run(project, "--broadcasts=error")
    result.assert_outcomes(failed=3)
    told = result.stdout.str().partition("FAILURES")[2].partition("implicit broadcasts")[0]
    assert re.findall(r"numpy\.sub of (\[.*?\]) and", told) == ["[32, 1]", "[2, 1]", "[3, 1]"]
    assert re.findall(r"(\d+) times", told) == ["2", "3"]


def test_a_baseline_knows_a_line_whatever_operation_meets_it(project):
    project.makepyfile(
        test_model="""
import numpy as np
import zerostride as zs
from model import loss

def test_numpy():
    loss(np.ones((32, 1)), np.ones(32))

def test_zerostride():
    loss(zs.ones(8, 1), zs.ones(8))
"""
    )
    run(project, "--broadcasts-baseline=known.json", "--broadcasts-update").assert_outcomes(passed=2)
    run(project, "--broadcasts-baseline=known.json").assert_outcomes(passed=2)


def test_a_mistake_of_a_module_fails_the_run(project):
    project.makepyfile(test_model="import numpy as np\ntable = np.ones((3, 1)) - np.ones(3)\n\ndef test_nothing():\n    pass\n")
    result = run(project, "--broadcasts=error")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["test_model.py:2: numpy.sub*"])


def test_a_baseline_keeps_what_there_is_and_fails_on_what_is_new(project):
    baseline = "--broadcasts-baseline=known.json"
    missing = run(project, baseline)
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines(["*write it with --broadcasts-update*"])
    run(project, baseline, "--broadcasts-update").assert_outcomes(passed=2)
    written = (project.path / "known.json").read_text()

    known = run(project, baseline)
    known.assert_outcomes(passed=2)
    known.stdout.fnmatch_lines(["0 broadcasts that were probably not meant (1 known from the baseline)"])

    moved = MODEL.replace("def loss", "# A line more.\n\n\ndef loss")
    project.makepyfile(model=moved, test_model=TESTS.replace("32", "48"))
    run(project, baseline).assert_outcomes(passed=2)
    run(project, baseline, "--broadcasts-update")
    assert (project.path / "known.json").read_text() == written

    project.makepyfile(model=moved + "\ndef other(output, target):\n    return abs(output - target).mean()\n")
    project.makepyfile(
        test_other="""
        import numpy as np
        from model import other

        def test_other():
            other(np.ones((8, 1)), np.ones(8))
        """
    )
    new = run(project, baseline)
    new.assert_outcomes(passed=2, failed=1)
    new.stdout.fnmatch_lines(["model.py:10: *", "1 broadcast that was probably not meant (1 known from the baseline)", "shown above*"])


def test_a_marked_test_may_do_what_it_likes(project):
    project.makepyfile(test_model=TESTS.replace("def test_mistaken", '@pytest.mark.broadcasts("allow")\ndef test_mistaken'))
    result = run(project, "--broadcasts=error", "--strict-markers")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["no broadcast that was probably not meant"])


@pytest.mark.parametrize(
    "rule, passed",
    [
        ('"model.py"', 2),
        ('"model.py: sub"', 2),
        ('"*.py: sub (n, 1) (n)"', 2),
        ('{file = "model.py", op = "sub", shapes = "(32, 1) (32)"}', 2),
        ('"model.py: mul"', 1),
        ('"model.py: sub (32, 1) (31)"', 1),
        ('"other.py"', 1),
    ],
)
def test_a_project_allows_places_by_file_operation_and_shapes(project, rule, passed):
    project.makepyprojecttoml(f'[tool.zerostride]\nbroadcasts = "error"\nbroadcasts_allow = [{rule}]\n')
    run(project).assert_outcomes(passed=passed, failed=2 - passed)


def test_one_line_of_configuration_is_enough(project):
    project.makepyprojecttoml('[tool.pytest.ini_options]\nbroadcasts = "error"\n')
    run(project).assert_outcomes(passed=1, failed=1)
    run(project, "--broadcasts=off").assert_outcomes(passed=2)


def test_a_mistaken_configuration_is_said(project):
    for line, said in [
        ('broadcasts = "maybe"', "*'maybe' is none of off, report, error*"),
        ('broadcasts_alow = ["x.py"]', "*has no broadcasts_alow*"),
        ('broadcasts_classes = ["mutual"]', "*mutual is none of rank_added*"),
        ("broadcasts_allow = [{path = 3}]", "*other keys than file, op and shapes*"),
    ]:
        project.makepyprojecttoml(f"[tool.zerostride]\n{line}\n")
        result = run(project, "--broadcasts=report")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([said])


def test_workers_of_xdist_report_together(project):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    project.makepyfile(
        test_more="""
        import numpy as np
        import pytest
        from model import loss

        @pytest.mark.parametrize("n", range(4))
        def test_more(n):
            loss(np.ones((32, 1)), np.ones(32))
        """
    )
    result = run(project, "--broadcasts=report", "-n2")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["1 broadcast that was probably not meant", "model.py:4: *", "    in loss, 5 times, *"])
    run(project, "-n2", "--broadcasts-baseline=known.json", "--broadcasts-update").assert_outcomes(passed=6)
    run(project, "-n2", "--broadcasts-baseline=known.json").assert_outcomes(passed=6)


def test_off_changes_nothing_and_loads_nothing(project, monkeypatch):
    """The bytecode is Python's own, also after a run under guard in the same folder."""
    project.makepyfile(
        test_model="""
        import sys

        def test_bytecode():
            assert "zerostride" not in sys.modules
            assert "numpy" not in sys.modules
            import model
            with open("model.py") as file:
                assert model.loss.__code__ == compile(file.read(), model.__file__, "exec").co_consts[2]
        """
    )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others' plugins import NumPy
    plugin = "-p", "pytest_zerostride"
    run_alone(project, *plugin, "--broadcasts=report").assert_outcomes(failed=1)
    run_alone(project, *plugin, "--broadcasts=off").assert_outcomes(passed=1)
    run_alone(project, *plugin).assert_outcomes(passed=1)


def test_services_show_the_lines_beside_the_code(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = run(project, "--broadcasts=report", "--broadcasts-output=found.sarif")
    result.stdout.fnmatch_lines(["::warning file=model.py,line=4,title=implicit broadcast::numpy.sub of *"])
    (found,) = json.loads((project.path / "found.sarif").read_text())["runs"][0]["results"]
    place = found["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("model.py", 4)


def test_assertions_are_explained_as_ever(project):
    project.makepyfile(
        test_model="""
        import numpy as np

        def test_wrong():
            a, b = 3, 4
            assert a + b == 8, "no"

        def test_array():
            x, y = np.ones((3, 1)), np.zeros(3)
            assert (x == y).any()
        """
    )
    plain, guarded = run(project, "--broadcasts=off"), run(project, "--broadcasts=report")
    address = lambda line: re.sub("0x[0-9a-f]+", "0x", line)
    explained = lambda result: [address(line) for line in result.outlines if line.startswith(("E ", ">", "test_model.py:"))]
    assert explained(plain) == [line for line in explained(guarded) if "numpy.eq" not in line]
    assert "E       assert (3 + 4) == 8" in plain.outlines


COMPILED = """
import warnings

import torch
import torch._dynamo


def step(x, y):
    seen = set()
    seen.add("a")
    moved = x.add(y).clip(0, 1) if "a" in seen else x
    moved[0] = y[1] - x[0]
    moved -= torch.where(x > y, x, y)
    return [row * 2.0 for row in moved]


def sized(x, y):
    count = x.shape[0]
    return x * 2 - y if count == 3 else x


class Sized(torch.nn.Module):
    def forward(self, x, y):
        return x.reshape(x.shape[0], -1) - y * x.size(1)


x, y = torch.rand(3, 2), torch.rand(3, 2)


def test_graphs():
    explained = torch._dynamo.explain(step)(x, y)
    targets = [getattr(node.target, "__name__", node.target) for graph in explained.graphs for node in graph.graph.nodes]
    print("\\ngraphs:", explained.graph_break_count, targets)
    torch.testing.assert_close(torch.compile(step, fullgraph=True, backend="eager")(x, y), step(x, y))


def test_traces():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        traced, module = torch.jit.trace(sized, (x, y)), torch.jit.trace(Sized(), (x, y))
        module2 = torch.jit.trace_module(Sized(), {"forward": (x, y)})
    print("\\nwarnings:", [(warning.category.__name__, warning.filename, warning.lineno) for warning in told])
    print("traces:", str(traced.graph).splitlines(), str(module.inlined_graph).splitlines())
    for one in (module, module2):
        torch.testing.assert_close(one(x, y), Sized()(x, y))
    torch.testing.assert_close(traced(x, y), sized(x, y))
"""


# What a project imports is forgotten after its test, and torch can be imported once: not here.
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_what_torch_compiles_and_records_is_what_it_is_without_a_guard(project):
    project.makepyfile(test_model=COMPILED)
    plain, guarded = (run_alone(project, f"--broadcasts={mode}", "-s") for mode in ("off", "report"))
    told = lambda result: [line for line in result.outlines if line.startswith(("graphs:", "warnings:", "traces:"))]
    for result in (plain, guarded):
        result.assert_outcomes(passed=2)
    assert told(plain) == told(guarded)
    assert len(told(plain)) == 3 and "graphs: 0" in told(plain)[0]


def test_a_module_can_be_left_alone(project):
    project.makepyprojecttoml('[tool.zerostride]\nbroadcasts = "error"\nbroadcasts_skip = ["model"]\n')
    run(project).assert_outcomes(passed=2)


def test_conftests_and_what_they_import_are_watched(project):
    project.makeconftest("import numpy as np\nfrom model import loss\nloss(np.ones((32, 1)), np.ones(32))\n")
    result = run(project, "--broadcasts=report", "--deselect=test_model.py::test_mistaken")
    result.stdout.fnmatch_lines(["model.py:4: numpy.sub*", "*in loss, once*"])


# ---- without pytest


def guarded(project, *arguments):
    command = [sys.executable, "-m", "zerostride.guard", *arguments]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True)


@pytest.fixture
def script(project):
    project.makepyfile(
        train="""
        import sys
        import numpy as np
        from model import loss

        print(sys.argv[1:], __name__, loss(np.ones((32, 1)), np.ones(32)))
        if "fail" in sys.argv:
            raise ValueError("of the program")
        sys.exit(3 if "three" in sys.argv else None)
        """
    )
    return project


def test_a_script_runs_as_it_would_alone(script):
    done = guarded(script, "train.py", "--epochs", "1")
    assert (done.returncode, done.stdout) == (0, "['--epochs', '1'] __main__ 0.0\n")
    assert "model.py:4: numpy.sub of [32, 1] and [32] broadcasts to [32, 32]" in done.stderr
    assert guarded(script, "--broadcasts=error", "train.py").returncode == 1
    assert guarded(script, "--broadcasts=error", "train.py", "three").returncode == 3
    assert guarded(script, "-m", "train", "x").stdout == "['x'] __main__ 0.0\n"
    failed = guarded(script, "train.py", "fail")
    assert failed.returncode == 1
    alone = subprocess.run([sys.executable, "train.py", "fail"], cwd=script.path, capture_output=True, text=True)
    assert failed.stderr.startswith(alone.stderr.replace(str(script.path) + os.sep, ""))


def test_a_script_has_a_baseline_too(script):
    assert guarded(script, "--baseline=known.json", "--update", "train.py").returncode == 0
    done = guarded(script, "--baseline=known.json", "--broadcasts=error", "train.py")
    assert done.returncode == 0
    assert "(1 known from the baseline)" in done.stderr


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_machines_read_the_report_on_standard_output(script, form):
    out = guarded(script, f"--format={form}", "train.py").stdout.partition("\n")[2]
    if form == "github":
        assert out.startswith("::warning file=model.py,line=4")
    else:
        assert json.loads(out)


def test_mistaken_commands_are_said(script):
    for arguments in (["nothing.py"], ["--update", "train.py"], ["--format=xml", "train.py"]):
        assert guarded(script, *arguments).returncode == 2


def test_the_picture_in_the_guide_is_what_is_printed():
    assert report_picture.PICTURE.read_text() == report_picture.drawn(report_picture.printed())
