"""The guard: planted mistakes are found once each, on their line; innocent programs raise no alarm."""

import contextlib
import doctest
import importlib.util
import inspect
import io
import itertools
import math
import os
import pathlib
import re
import sys

import numpy as np
import pytest
import zerostride as zs
from zerostride import guard

PLANTED = pathlib.Path(__file__).parent / "planted"


def programs():
    """Each program of ``planted/``: lines with ``-`` are the mistake's, lines with ``+`` its twin's."""
    for library in ("numpy", "jax", "torch"):
        start, *cases = (PLANTED / f"{library}.txt").read_text().split("\n## ")
        for case in cases:
            name, _, body = case.partition("\n")
            yield pytest.param(library, start, body.rstrip().splitlines(), id=f"{library}: {name}")


def written(start, body, sign):
    """The program with the lines of one sign, and the line where the mistake is: the marked one, or the first of that sign."""
    lines = [*start.splitlines(), *(line for line in body if line[:1] not in "+-" or line[:1] == sign)]
    own = [number for number, line in enumerate(lines, 1) if line[:1] == sign]
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
    return "\n".join(line[2:] if line[:1] == sign else line for line in lines) + "\n", (marked or own or [0])[0]


def run(name):
    """Runs a file as a module of the user's, under guard."""
    remove = guard.install()
    try:
        with guard.Guard() as found, eye():
            spec = importlib.util.find_spec(name)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    finally:
        remove()
    return found.mistakes


def eye():
    if "torch" not in sys.modules:
        return contextlib.nullcontext()
    from zerostride.guard import _torch

    return _torch.eye()


def needs(library):
    return pytest.importorskip(library, reason=f"{library} is not installed")


@pytest.fixture
def modules(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library, start, body", list(programs()))
def test_a_planted_mistake_is_found_once_and_its_twin_is_not(library, start, body, modules):
    needs(library)
    text, line = written(start, body, "-")
    (modules / "mistaken.py").write_text(text)
    found = run("mistaken")
    assert [(mistake.file, mistake.line) for mistake in found] == [(str(modules / "mistaken.py"), line)], found
    assert found[0].op.startswith(library)
    text, _ = written(start, body, "+")
    (modules / "innocent.py").write_text(text)
    assert run("innocent") == []


def pages():
    """Each program of docs/python/mistakes.md."""
    page = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python" / "mistakes.md"
    for name, program in re.findall(r"^## (.+?)$.*?```python\n(.*?)```", page.read_text(), re.S | re.M):
        yield pytest.param(program, id=name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", list(pages()))
def test_the_ten_mistakes_are_found(program, modules):
    needs(re.search(r"import (\w+)", program)[1])
    line = 1 + [text.endswith("# mistake") for text in program.splitlines()].index(True)
    (modules / "mistaken.py").write_text(re.sub(r".*# meant\n", "", program))
    assert [mistake.line for mistake in run("mistaken")] == [line]
    (modules / "innocent.py").write_text(re.sub(r".*# mistake\n", "", program))
    assert run("innocent") == []


OUTER = """
import numpy as np
x, y, table = np.arange(4.0), np.arange(4.0), np.arange(12.0).reshape(4, 3)
a = x[:, None] * y
b = np.abs(x[:, np.newaxis] - y).mean()
rows = x.reshape(-1, 1)
c = rows - y
squares = (table ** 2).sum(1, keepdims=True)
d = np.sqrt(squares + (table ** 2).sum(1) - 2 * table @ table.T).mean()
def kernel(a, b):
    return np.exp(-((a - b) ** 2))
e = kernel(x[:, None], y)
def both(values):
    return kernel(values.reshape(-1, 1), values)
f = both(x)
i, j = np.ix_(range(4), range(3))
g = i * 10 + j
u, v = np.meshgrid(x, y[:3], sparse=True)
h = u * v
k = np.ones((5, 1)) * np.ones((1, 4))
class Grid:
    def __init__(self):
        self.rows = x[:, None]
    def cells(self):
        return self.rows + y
l = Grid().cells()
m = np.array([[0.0], [10.0], [20.0]]) + np.arange(3)
n = table - table.mean(0)
o = np.zeros((4, 4)); o[:] = x[None, :]
p = [row[:, None] - row for row in table]
q = (lambda a: a[:, None] + a)(x)
given = {"column": np.zeros((4, 1)), "row": np.zeros((1, 3))}
r = given["column"] == given["row"]
"""


def test_outer_products_that_are_written_as_such_are_meant(modules):
    (modules / "outer.py").write_text(OUTER)
    assert run("outer") == []


@pytest.mark.parametrize("row, sign", [((1, 3), "-"), ((1, 4), "=="), ((4,), "=="), ((3,), "!=")])
def test_a_table_of_matches_is_meant_of_a_column_and_a_row_of_another_length_alone(row, sign, modules):
    text = f"import numpy as np\ngiven = {{'a': np.zeros((4, 1)), 'b': np.zeros({row})}}\nr = given['a'] {sign} given['b']\n"
    (modules / "matches.py").write_text(text)
    assert [mistake.line for mistake in run("matches")] == [3]


def examples(*modules):
    """The examples in the docstrings of modules, as programs."""
    seen = set()
    for module in modules:
        for name, documented in inspect.getmembers(module):
            text = getattr(documented, "__doc__", None)
            if not name.startswith("_") and isinstance(text, str) and ">>>" in text and "plt" not in text and text not in seen:
                seen.add(text)
                with contextlib.suppress(ValueError):
                    yield "".join(example.source for example in doctest.DocTestParser().get_examples(text) if not example.exc_msg)


def run_examples(*modules, folder):
    """Runs the examples under guard and says how many; one that ends early does so without the guard too."""
    count = 0
    with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(folder):
        for count, program in enumerate(examples(*modules), 1):
            path = folder / f"example_{count}.py"
            path.write_text("import numpy as np\n" + program)
            loader = guard._importer.Loader("example", str(path))
            with contextlib.suppress(Exception):
                exec(loader.source_to_code(path.read_bytes(), str(path)), {**guard._importer.NAMES})
    return count


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_numpy_raise_no_alarm(tmp_path):
    with guard.Guard() as found:
        assert run_examples(np, np.linalg, np.ma, np.random, folder=tmp_path) > 300
    assert found.mistakes == []


@pytest.mark.filterwarnings("ignore")
def test_pytorchs_samples_raise_no_alarm(torch):
    """The samples with which PyTorch tests its operations; a sample that is the mistake itself is none of them."""
    pytest.importorskip("expecttest", reason="expecttest is not installed, which PyTorch's samples need")
    from torch.testing._internal.common_methods_invocations import op_db

    step = 1 if "ZEROSTRIDE_LONG" in os.environ else 24
    programs = 0
    for operation in op_db[::step]:
        if torch.float32 not in operation.dtypes:
            continue
        for sample in itertools.islice(operation.sample_inputs("cpu", torch.float32), 3):
            tensors = [value for value in torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
                       if isinstance(value, torch.Tensor) and value.dim()]  # fmt: skip
            if _stretch_each_other([tuple(tensor.shape) for tensor in tensors]):
                continue
            with guard.Guard() as found, eye(), contextlib.suppress(Exception):
                operation(sample.input, *sample.args, **sample.kwargs)
            assert found.mistakes == [], operation.name
            programs += 1
    assert programs > 30


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mobilenet_v3_small", "resnet18", "shufflenet_v2_x0_5"])
def test_a_training_step_of_torchvision_raises_no_alarm(torch, name):
    models = pytest.importorskip("torchvision", reason="torchvision is not installed").models
    model = models.get_model(name, weights=None, num_classes=10).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with guard.Guard() as found, eye():
        loss = torch.nn.functional.cross_entropy(model(torch.rand(2, 3, 64, 64)), torch.tensor([1, 2]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert found.mistakes == []


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_scikit_learn_raise_no_alarm(tmp_path):
    """Examples of the functions that compute on arrays; all of its docstrings take minutes."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn import covariance, metrics, preprocessing

    with guard.Guard() as found:
        assert run_examples(metrics, metrics.pairwise, preprocessing, covariance, folder=tmp_path) > 80
    assert found.mistakes == []


def _stretch_each_other(shapes):
    try:
        result = np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return bool(shapes) and math.prod(result) > max(map(math.prod, shapes))


def test_rewritten_code_computes_the_same(modules):
    """Every operator and statement that is rewritten, on what is no array, and with the traceback of the plain program."""
    text = """
import traceback
class Seen:
    log = []
    def __getitem__(self, index): self.log.append(("get", index)); return 1
    def __setitem__(self, index, value): self.log.append(("set", index, value))
    def __eq__(self, other): return "eq"
    def __rsub__(self, other): return "rsub"
a, b, s, n = 7, 3, Seen(), [1]
operators = [a + b, a - b, a * b, a / b, a // b, a % b, a ** b, a << b, a >> b, a | b, a ^ b, a & b,
             a == b, a != b, a < b, a <= b, a > b, a >= b, a < b < a, s == a, a - s]
a += b; a -= b; a *= b; a |= b
s[a] = b; s[a] += b; s[a:b, ...] = a
alias = n; n += n
text = "%s" % a
same = alias is n
def f(x: int | None = None, *y: "int | str") -> int | None: return x
annotations = f.__annotations__
try:
    a - "text"
except TypeError as error:
    trace = traceback.format_exc()
values = [operators, a, s.log, n, same, text, annotations, trace]
"""
    (modules / "module_a.py").write_text(text)
    (modules / "module_b.py").write_text(text)
    import module_a

    remove = guard.install()
    try:
        import module_b
    finally:
        remove()
    assert repr(module_b.values).replace("module_b", "module_a") == repr(module_a.values)


def test_an_audit_sees_numpy_where_a_module_is_rewritten(modules):
    (modules / "audited.py").write_text("import numpy as np\ndef run():\n    return np.ones((2, 3)) + np.ones(3)\n")
    remove = guard.install()
    try:
        import audited
    finally:
        remove()
    with zs.audit() as log:
        audited.run()
    assert [(record.op, record.classes, record.line) for record in log.records] == [("numpy.add", ("rank_added",), 3)]
    with zs.policy(rank_added="error"), pytest.raises(zs.BroadcastError):
        audited.run()
