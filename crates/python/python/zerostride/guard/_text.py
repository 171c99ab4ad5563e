"""Owns what the program's text says about an operation: where it stands, and what was done on purpose.

A broadcast that was meant is written so that a reader sees it: ``x[:, None]``, ``unsqueeze``, ``keepdim=True``, a
``reshape`` with a 1. This file reads the text of the statement, of the names in it and of the callers, when a broadcast is
suspected; no program pays for it before.
"""

import ast
import functools
import itertools
import linecache

from . import _frames

NOTHING, CREATED, EARLIER, HERE = range(4)
"""How an operand got its dim of size 1: unknown; a constructor was told the shape; earlier on purpose; in this very expression."""

MAKES = {"unsqueeze", "unsqueeze_", "expand_dims", "atleast_3d", "ix_", "ogrid", "meshgrid", "expand", "expand_as",
          "broadcast_to", "broadcast_arrays", "broadcast_tensors", "add_dummy_feature"}  # fmt: skip
_RESHAPES = {"reshape", "view", "resize", "reshape_", "unflatten", "reshape_as", "view_as"}
_CONSTRUCTORS = {"zeros", "ones", "full", "empty", "rand", "randn", "random", "normal", "uniform", "standard_normal",
                 "randint", "integers", "array", "asarray", "tensor", "as_tensor", "make_tensor"}  # fmt: skip
_LITERAL = {"array", "asarray", "tensor", "as_tensor", "Tensor"}
_KEEPS = {"abs", "add", "astype", "bool", "ceil", "clamp", "clip", "clone", "contiguous", "copy", "cos", "cpu", "cuda", "detach",
          "div", "divide", "double", "exp", "exp2", "expm1", "float", "floor", "half", "int", "long", "log", "log10", "log1p",
          "log2", "mul", "multiply", "negative", "numpy", "neg", "pow", "power", "real", "reciprocal", "relu", "requires_grad_",
          "round", "rsqrt", "sigmoid", "sign", "sin", "softplus", "sqrt", "square", "sub", "subtract", "tanh", "to", "type",
          "where", "array", "asarray", "tensor", "Parameter", "gammaln", "lgamma", "erf", "expit", "maximum", "minimum",
          "Variable", "device_put", "conj", "transpose", "t", "permute", "swapaxes", "moveaxis", "fill_diagonal", "from_numpy",
          "masked_fill", "logaddexp", "mod", "remainder", "fmod", "arctan2", "atan2", "hypot", "erfc", "logit", "squeeze_",
          "unbind", "unstack", "chunk", "split"}  # fmt: skip
_REDUCES = {"mean", "sum", "average", "median", "all", "any", "norm", "max", "min", "nanmean", "nansum", "item", "float", "prod",
            "count_nonzero", "std", "var"}  # fmt: skip
_PRODUCTS = {"matmul", "dot", "mm", "inner", "einsum", "bmm"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CALLABLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


class Program:
    """The text of one file, as a tree whose nodes know their parents."""

    def __init__(self, source):
        self.tree = ast.parse(source)
        self.parents = {}
        self.spans = {}
        self.lines = {}
        self.imported = set()
        self.attributes = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, (ast.expr, ast.AugAssign, ast.Assign)):
                self.spans.setdefault((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), node)
                self.spans.setdefault((node.end_lineno, node.end_col_offset, type(node)), node)
                self.lines.setdefault(node.lineno, []).append(node)
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and last(target.value) == "self":
                        self.attributes.setdefault(target.attr, []).append(node.value)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.imported |= {alias.asname or alias.name.split(".")[0] for alias in node.names}

    def ancestors(self, node):
        while node := self.parents.get(node):
            yield node

    def scope(self, node):
        return next((above for above in self.ancestors(node) if isinstance(above, _SCOPES)), self.tree)


def program(filename):
    """The tree of a file as it is now, or None where its text cannot be had."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    known = _programs.get(filename)
    if known is None or known[0] is not lines:  # linecache has another list when it has read the file again
        known = _programs[filename] = lines, _parsed("".join(lines))
    return known[1]


_programs = {}


def _parsed(source):
    try:
        return Program(source) if source else None
    except (SyntaxError, ValueError, RecursionError):
        return None


class Place:
    """An expression of the program that runs now."""

    def __init__(self, program, node, frame, seen=()):
        self.program, self.node, self.frame, self.seen = program, node, frame, seen

    @staticmethod
    def of(frame):
        """What a frame is evaluating, by the position of its instruction; None where its text cannot be had."""
        known = program(frame.f_code.co_filename)
        if known is None:
            return None
        positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
        line, end_line, column, end_column = next(positions, (None,) * 4)
        if column is None:
            return None
        node = known.spans.get((line, column, end_line, end_column)) or known.spans.get((end_line, end_column, ast.Call))
        return Place(known, node, frame) if node else None

    @staticmethod
    def on(filename, number, kinds=(ast.BinOp, ast.Call, ast.Compare, ast.AugAssign)):
        """The first operation of a line, for what does not run in a frame: a compiled function."""
        known = program(filename)
        nodes = known.lines.get(number, ()) if known else ()
        node = next((node for node in nodes if isinstance(node, kinds)), None)
        return Place(known, node, None) if node else None

    def at(self, node):
        return Place(self.program, node, self.frame, self.seen)

    @property
    def operands(self):
        """The expressions that an operation reads, in order."""
        node = self.node
        if isinstance(node, ast.BinOp):
            return [node.left, node.right]
        if isinstance(node, ast.Compare):
            return [node.left, *node.comparators]
        if isinstance(node, ast.AugAssign):
            return [node.target, node.value]
        if isinstance(node, ast.Subscript):
            node = self.program.parents.get(node)
        if isinstance(node, ast.Assign):
            return [*node.targets, node.value]
        if isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            given = [argument for argument in given if not isinstance(argument, ast.Constant)]
            return [node.func.value, *given] if isinstance(node.func, ast.Attribute) and not self._is_module(node.func.value) else given
        return []

    def _is_module(self, node):
        """Whether a name is that of something imported."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.program.imported

    def names(self):
        """What the program calls the operands: names and other short expressions that a method can be called of."""
        found = (ast.unparse(node) if isinstance(node, _CALLABLE) else "" for node in self.operands)
        return tuple(text if len(text) <= 40 else "" for text in found)

    def evidence(self):
        """How surely the expression has a dim of size 1 on purpose."""
        node = self.node
        if node in self.seen:  # x = x / 2
            return NOTHING
        self.seen = {*self.seen, node}
        below = lambda found: self.at(found).evidence()
        most = lambda found: max((below(part) for part in found), default=NOTHING)
        match node:
            case ast.Subscript():
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                if any(_is_newaxis(part) for part in parts) or last(node.value) in ("ogrid", "ix_"):
                    return HERE
                return below(node.value)
            case ast.Call():
                return self._call(node, below, most)
            case ast.BinOp():
                return most([node.left, node.right])
            case ast.Compare():
                return most([node.left, *node.comparators])
            case ast.UnaryOp():
                return below(node.operand)
            case ast.IfExp():
                return most([node.body, node.orelse])
            case ast.NamedExpr() | ast.Starred():
                return below(node.value)
            case ast.Attribute():
                if node.attr in ("T", "mT", "H", "real", "imag", "data", "grad"):
                    return below(node.value)
                return min(self._attribute(node.attr), EARLIER)
            case ast.Name():
                return self._name(node)
        return NOTHING

    def _call(self, node, below, most):
        name, arguments = last(node.func), [*node.args, *(keyword.value for keyword in node.keywords)]
        is_method = isinstance(node.func, ast.Attribute) and not self._is_module(node.func.value)
        if name in MAKES or any(keyword.arg in ("keepdim", "keepdims") and _is_true(keyword.value) for keyword in node.keywords):
            return HERE
        if name in _REDUCES and any(_is_true(argument) for argument in node.args[1:]):
            return HERE
        if name in _RESHAPES and any(_has_one(argument) for argument in arguments[0 if is_method else 1 :]):
            return HERE
        if name in ("rearrange", "repeat", "reduce") and any(_is_pattern_with_one(argument) for argument in node.args):
            return HERE
        if name in _LITERAL and node.args and _is_column(node.args[0]):
            return EARLIER
        if name in _CONSTRUCTORS and any(_has_one(argument) for argument in arguments):
            return CREATED
        if name in _KEEPS:
            return max(most(arguments), below(node.func.value) if is_method else NOTHING)
        if function := self._function(node.func):
            returned = [found.value for found in _inside(function) if isinstance(found, ast.Return) and found.value]
            return min(max((Place(self.program, value, None, self.seen).evidence() for value in returned), default=NOTHING), EARLIER)
        return NOTHING

    def _function(self, called):
        if not isinstance(called, ast.Name):
            return None
        found = (node for node in self.program.tree.body if isinstance(node, ast.FunctionDef) and node.name == called.id)
        return next(found, None)

    def _attribute(self, name):
        """What any method of this file assigned to an attribute of this name."""
        assigned = self.program.attributes.get(name, ())
        return max((Place(self.program, value, None, self.seen).evidence() for value in assigned), default=NOTHING)

    def _name(self, node):
        scope = self.program.scope(node)
        while True:
            if isinstance(scope, _FUNCTIONS) and node.id in _parameters(scope):
                return max(self._argument(scope, node.id), self._assigned(scope, node.id))
            if _binds(scope, node.id) or scope is self.program.tree:
                return self._assigned(scope, node.id)
            scope = self.program.scope(scope)

    def _assigned(self, scope, name):
        found = [self.at(value).evidence() for value in _values(scope).get(name, ())]
        return min(max(found, default=NOTHING), EARLIER)

    def _argument(self, function, name):
        """What the caller that is running gave for a parameter."""
        call = self._caller(function)
        if call is None:
            return NOTHING
        arguments = call.arguments_for(function, name)
        return max((call.at(argument).evidence() for argument in arguments), default=NOTHING)

    def _caller(self, function):
        frame = self.frame
        while frame and frame.f_code.co_name in _COMPREHENSIONS:
            frame = frame.f_back
        frame = frame.f_back if frame else None
        is_users = frame is not None and _frames.is_users(self.frame.f_code.co_filename)
        while frame:
            # Between two functions of the program stand libraries that hand a call on.
            place = None if is_users and not _frames.is_users(frame.f_code.co_filename) else Place.of(frame)
            if place and isinstance(place.node, ast.Call) and place.calls(function):
                return place
            frame = frame.f_back
        return None

    def calls(self, function):
        """Whether this call may be one of a function: its own name, or an object's."""
        name, own = last(self.node.func), getattr(function, "name", None)
        return own is None or name == own or own in ("forward", "__call__", "__init__") and "super" not in ast.dump(self.node.func)

    def arguments_for(self, function, name):
        call = self.node
        for keyword in call.keywords:
            if keyword.arg == name:
                return [keyword.value]
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        if name in names and names.index(name) < len(call.args) and not any(isinstance(argument, ast.Starred) for argument in call.args):
            return [call.args[names.index(name)]]
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return [argument for argument in call.args]
        return []

    def is_reduced(self, depth=0):
        """Whether the value of the expression ends in a single number, as losses and scores do."""
        if depth > 6:
            return False
        node = self.node
        for above in self.program.ancestors(node):
            if isinstance(above, ast.Call):
                name = last(above.func)
                if name in _REDUCES:
                    return _is_full(above, node)
                if node is not above.func and name not in _KEEPS:
                    return False
            if isinstance(above, (ast.Return, ast.Lambda)):
                function = above if isinstance(above, ast.Lambda) else self.program.scope(above)
                call = self._caller(function) if isinstance(function, _FUNCTIONS) and self.frame else None
                return call is not None and call.is_reduced(depth + 1)
            if isinstance(above, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                targets = above.targets if isinstance(above, ast.Assign) else [above.target]
                names = {target.id for target in targets if isinstance(target, ast.Name)}
                scope = self.program.scope(above)
                uses = (
                    use
                    for use in _inside(scope)
                    if isinstance(use, ast.Name) and use.id in names and isinstance(use.ctx, ast.Load) and (use.lineno, use.col_offset) > (above.lineno, above.col_offset)
                )
                return any(self.at(use).is_reduced(depth + 1) for use in uses)
            if isinstance(above, ast.stmt):
                return False
            node = above
        return False

    def keeps_elements(self):
        """Whether a call says that a loss of each element is wanted."""
        given = self.node.keywords if isinstance(self.node, ast.Call) else ()
        return any(keyword.arg == "reduction" and getattr(keyword.value, "value", None) == "none" for keyword in given)

    def is_in_table(self):
        """Whether a matrix product is added to the value: the whole table is wanted then."""
        node = self.node
        for above in self.program.ancestors(node):
            if isinstance(above, ast.BinOp):
                other = above.right if above.left is node else above.left
                if any(_is_product(found) for found in ast.walk(other)):
                    return True
            elif isinstance(above, ast.stmt):
                return False
            node = above
        return False


def last(node):
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else last(node.func) if isinstance(node, ast.Call) else ""


def _is_newaxis(node):
    return isinstance(node, ast.Constant) and node.value is None or last(node) == "newaxis"


def _is_true(node):
    return isinstance(node, ast.Constant) and node.value is True


def _has_one(node):
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    if isinstance(node, ast.BinOp):  # (n,) + (1,) * k
        return _has_one(node.left) or _has_one(node.right)
    return any(isinstance(part, ast.Constant) and part.value == 1 and part.value is not True for part in parts)


def _is_pattern_with_one(node):
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return bool({"1", "()"} & set(text.partition("->")[2].split()))


def _is_column(node):
    """A literal table of which a row has one element, as ``[[1], [2]]``."""
    if not isinstance(node, (ast.List, ast.Tuple)) or not node.elts:
        return False
    first = node.elts[0]
    is_row = isinstance(first, (ast.List, ast.Tuple))
    return is_row and (len(first.elts) == 1 or len(node.elts) == 1 or _is_column(first))


def _is_product(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) or isinstance(node, ast.Call) and last(node.func) in _PRODUCTS


def _is_full(call, inner):
    """Whether a reduction leaves one number."""
    rest = list(call.args[1:] if inner in call.args else call.args)
    if any(keyword.arg in ("axis", "dim") and not _is_newaxis(keyword.value) for keyword in call.keywords):
        return False
    return not rest or last(call.func) == "norm"


@functools.lru_cache(maxsize=4096)
def _inside(scope):
    """The nodes of a scope, without those of functions inside it."""
    nodes, todo = [], list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        nodes.append(node)
        if not isinstance(node, _FUNCTIONS):
            todo.extend(ast.iter_child_nodes(node))
    return nodes


def _parameters(function):
    given = function.args
    return {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _binds(scope, name):
    return any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in _inside(scope))


@functools.lru_cache(maxsize=4096)
def _values(scope):
    """The expressions that are assigned to each name of a scope."""
    values = {}
    for node in _inside(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _match(target, node.value, values)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value:
            _match(node.target, node.value, values)
    return values


def _match(target, value, values):
    if isinstance(target, ast.Name):
        values.setdefault(target.id, []).append(value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else [value] * len(target.elts)
        for part, given in zip(target.elts, parts):
            _match(part, given, values)


def line(filename, number):
    """The text of a line, without its indentation."""
    linecache.checkcache(filename)
    return linecache.getline(filename, number).strip()
