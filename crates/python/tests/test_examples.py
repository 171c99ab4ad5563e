"""Every function and method has an example in its docstring, and shows what happens."""

import doctest

import pytest
import zerostride as zs

FUNCTIONS = {name: value for name, value in vars(zs).items() if name in zs.__all__ and callable(value) and not isinstance(value, type)}
METHODS = {name: value for name, value in sorted(vars(zs.Tensor).items()) if not name.startswith("_")}


def run(name, documented):
    test = doctest.DocTestParser().get_doctest(documented.__doc__, {"zs": zs}, name, None, 0)
    assert test.examples, f"{name} has no example: stubs/examples.txt"
    assert any(name in example.source for example in test.examples), f"the example of {name} does not call it"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """What examples write goes somewhere else."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_do_what_their_examples_show(name):
    run(name, FUNCTIONS[name])


@pytest.mark.parametrize("name", METHODS)
def test_methods_do_what_their_examples_show(name):
    run(name, METHODS[name])
