"""The stubs say what there is: names, parameters, order."""

import ast
import inspect
import pathlib

import pytest
import zerostride as zs

TREE = ast.parse(pathlib.Path(zs.__file__).with_name("__init__.pyi").read_text())
FUNCTIONS = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}


def parameters(node):
    arguments = node.args
    names = [argument.arg for argument in arguments.args]
    names += ["*" + arguments.vararg.arg] if arguments.vararg else ["*"] if arguments.kwonlyargs else []
    names += [argument.arg for argument in arguments.kwonlyargs]
    return [name for name in names if name != "self"]


def runtime(function):
    names, star = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names.append("*" + parameter.name)
            star = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not star:
            names.append("*")
            star = True
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            names.append(parameter.name)
    return [name for name in names if name != "self"]


def is_row(value):
    return type(getattr(value, "__wrapped__", value)) in (type(zs.add), type(zs.Tensor.add))


def test_every_function_stands_in_the_stubs_with_its_parameters():
    shown = {name: value for name, value in vars(zs).items() if name in zs.__all__ and is_row(value)}
    assert len(shown) > 150
    for name, function in shown.items():
        if name != "explain":
            assert parameters(FUNCTIONS[name]) == runtime(function), name
        assert function.__doc__.strip()


def test_every_method_stands_in_the_stubs_with_its_parameters():
    methods = {node.name: node for node in CLASSES["_Operations"].body + CLASSES["Tensor"].body if isinstance(node, ast.FunctionDef)}
    for name, method in vars(zs.Tensor).items():
        if is_row(method) and not name.startswith("_"):
            assert parameters(methods[name]) == runtime(method), name


def test_everything_in_the_stubs_exists():
    named = [*FUNCTIONS, *CLASSES, *(node.target.id for node in TREE.body if isinstance(node, ast.AnnAssign))]
    named += [name.asname for node in TREE.body if isinstance(node, ast.ImportFrom) for name in node.names if name.asname]
    for name in named:
        assert name.startswith("_") or hasattr(zs, name), name
    for cls in (zs.Tensor,):
        for node in CLASSES["_Operations"].body + CLASSES["Tensor"].body:
            if isinstance(node, ast.FunctionDef) and node.name not in ("__buffer__", "__imatmul__"):
                assert hasattr(cls, node.name), node.name
    assert set(zs.__all__) <= set(named)


@pytest.mark.parametrize("name", ["add", "sum", "where", "clamp", "unsqueeze", "cat"])
def test_signatures_are_python_s(name):
    assert inspect.signature(getattr(zs, name)).parameters
