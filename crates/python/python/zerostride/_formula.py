"""Owns the language of formulas: its grammar and its meaning. A formula is compiled to instructions for a
stack machine; Python runs none of its code. It does not know where arrays come from."""

import ast
import difflib
import operator
import os
import re

from . import _zerostride

MOST_CHARACTERS = 100_000
MOST_NESTED = 100
# Characters of a line of a formula, and of a part of it, that an error tells.
MOST_TOLD = 100

_TOKENS = re.compile(r"\*\*|\w+|\S")

_OWN = (_zerostride.Tensor, _zerostride.Expr)
_NUMBERS = (bool, int, float, complex)
_CONSTANTS = {"inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793, "e": 2.718281828459045}
_CONSTANTS |= {
    name: value for name, value in vars(_zerostride).items() if type(value) is _zerostride.dtype and not name.startswith("_")
}
_ATTRIBUTES = {"T", "mT", "shape", "ndim", "dtype", "real", "imag"}
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


def _extreme(own, values):
    """numexpr's ``max`` and ``min``, which return values only; of two arrays they are PyTorch's."""

    def extreme(x, axis=None, *others, **keywords):
        of_dim = axis is None or type(axis) in (int, tuple)
        return values(x, axis, *others, **keywords) if of_dim else own(x, axis, *others, **keywords)

    return extreme


_FUNCTIONS = {name: getattr(_zerostride, name) for name in _zerostride._COMPUTING if hasattr(_zerostride, name)}
_FUNCTIONS |= {name: getattr(_zerostride, name) for name in ("zeros_like", "ones_like", "full_like")}
_FUNCTIONS |= {"copy": _zerostride.clone, "rint": _zerostride.round}
_FUNCTIONS |= {"max": _extreme(_zerostride.max, _zerostride.amax), "min": _extreme(_zerostride.min, _zerostride.amin)}

_METHODS = {name for name in _zerostride._COMPUTING if hasattr(_zerostride.Expr, name)}


def _meant(name, known):
    """The known name that a misspelt one is closest to, as the end of an error."""
    close = difflib.get_close_matches(name, known, 1)
    return f"; did you mean `{close[0]}`?" if close else ""


def _result(value):
    """The value as a new array, if it is one of the arguments."""
    return value.clone() if isinstance(value, _OWN) else _zerostride.tensor(value) if isinstance(value, _NUMBERS) else value


def _nesting(text):
    """The deepest nesting of brackets, signs, powers and words."""
    most = brackets = signs = powers = words = 0
    follows_operand = False
    for token in _TOKENS.findall(text):
        if token in "([{":
            brackets += 1
        elif token in ")]}":
            brackets -= 1
        elif token == "**":
            powers += 1
        elif token in ("if", "else", "not", "await", "lambda"):
            words += 1
        elif token in "-+~" and not follows_operand:
            signs += 1
        elif not _is_operand(token):
            signs = powers = 0
        follows_operand = _is_operand(token) or token in ")]}"
        most = max(most, brackets + signs + powers + words)
    return most


def _is_operand(token):
    return token[0].isalnum() or token[0] in "_."


class Formula:
    """A formula of arrays with these names."""

    def __init__(self, text, names):
        self.text, self.names = text.strip(), names
        self.instructions = []
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"a formula has at most {MOST_CHARACTERS:,} characters, not {len(text):,}: write a function, and fuse it")
        if "\0" in text:
            raise ValueError("a formula has no null characters")
        too_deep = SyntaxError("the formula is nested too deeply: name its parts, and compute them one by one")
        # Python's parser could overflow the stack of a thread with a small one.
        if _nesting(self.text) > MOST_NESTED:
            raise too_deep
        try:
            tree = ast.parse(self.text, "<expression>", mode="eval")
        except (RecursionError, MemoryError):
            raise too_deep from None
        # A node is handled before its parts, so the instructions come out in reverse.
        pending = [tree.body]
        while pending:
            node = pending.pop()
            run, parts = self._instruction(node)
            self.instructions.append((node, parts, run))
            pending.extend(parts)
        self.instructions.reverse()
        self.instructions.append((tree.body, [tree.body], _result))

    def function(self):
        """The formula as a function of its arrays, in the order of their names."""

        def formula(*arrays):
            given, stack = dict(zip(self.names, arrays, strict=True)), []
            for node, parts, run in self.instructions:
                values = stack[len(stack) - len(parts) :]
                del stack[len(stack) - len(parts) :]
                try:
                    stack.append(given[node.id] if run is None else run(*values))
                except Exception as error:
                    if not isinstance(error, SyntaxError):
                        error.add_note(self._told(node, zip(parts, values, strict=True)))
                    raise
            (result,) = stack
            return result

        formula._parameters = list(self.names)  # by which errors name arrays
        return formula

    def _instruction(self, node):
        """The instruction of a node, and its parts; ``None`` for the name of an array."""
        match node:
            case ast.Constant(value):
                self._check_constant(node, value)
                return lambda: value, []
            case ast.Name(name) if name in self.names:
                return None, []
            case ast.Name(name) if name in _CONSTANTS:
                return lambda: _CONSTANTS[name], []
            case ast.Name(name) if name in _FUNCTIONS:
                raise self._refused(node, f"`{name}` is a function: call it, as in {name}(x)")
            case ast.Name(name):
                raise self._refused(node, f"`{name}` has no value: pass it as a keyword argument{_meant(name, self.names)}")
            case ast.BinOp(left, how, right) | ast.Compare(left, [how], [right]) if type(how) in _OPERATORS:
                return self._operation(node, _OPERATORS[type(how)], left, right), [left, right]
            case ast.UnaryOp(how, operand) if type(how) in _OPERATORS:
                return self._operation(node, _OPERATORS[type(how)], operand), [operand]
            case ast.UnaryOp(how) | ast.Compare(ops=[how]):
                raise self._refused(node, f"`{ast.unparse(node)}` has no meaning here: write ~, ==, !=, & and | on arrays")
            case ast.BoolOp():
                raise self._refused(node, f"`{ast.unparse(node)}` has no meaning here: write & and | on arrays")
            case ast.IfExp(test, body, other):
                choice = ", ".join(map(ast.unparse, (test, body, other)))
                raise self._refused(node, f"`{ast.unparse(node)}` has no meaning here: write where({choice})")
            case ast.Compare():
                raise self._refused(node, "comparisons do not chain: write (a < b) & (b < c)")
            case ast.Call(ast.Name(name), arguments, keywords) if name in _FUNCTIONS and name not in self.names:
                return self._call(node, arguments, keywords, _FUNCTIONS[name]), [*arguments, *(word.value for word in keywords)]
            case ast.Call(ast.Name(name)):
                why = "is no function" if name in self.names or name in _CONSTANTS else "is no function of formulas"
                raise self._refused(node, f"`{name}` {why}{_meant(name, _FUNCTIONS)}")
            case ast.Call(ast.Constant() | ast.Subscript() | ast.Call()):
                raise self._refused(node, "functions and methods are called by their names")
            case ast.Call(called) if not isinstance(called, ast.Attribute):
                return self._instruction(called)
            case ast.Call(ast.Attribute(value, name), arguments, keywords):
                if name not in _METHODS:
                    raise self._refused(node, f"there is no method `{name}`{_meant(name, _METHODS)}")
                method = self._of_array(node, value, name, lambda x, *rest, **named: getattr(x, name)(*rest, **named))
                return self._call(node, arguments, keywords, method), [value, *arguments, *(word.value for word in keywords)]
            case ast.Attribute(value, name):
                if name not in _ATTRIBUTES:
                    raise self._refused(node, f"there is no attribute `{name}`{_meant(name, _ATTRIBUTES)}")
                return self._of_array(node, value, name, operator.attrgetter(name)), [value]
            case ast.Subscript(value, key):
                return self._item(node), [value, key]
            case ast.Slice(lower, upper, step):
                limits = [limit or ast.Constant(None, lineno=node.lineno, col_offset=node.col_offset) for limit in (lower, upper, step)]
                return slice, limits
            case ast.Tuple(items) | ast.List(items):
                made = tuple if isinstance(node, ast.Tuple) else list
                return lambda *parts: made(parts), items
            case ast.Starred():
                raise self._refused(node, "* has no meaning here")
        raise self._refused(node, f"`{ast.unparse(node)}` has no meaning here: write operators, functions and indices")

    def _call(self, node, arguments, keywords, function):
        if any(word.arg is None for word in keywords):
            raise self._refused(node, "** has no meaning here")
        names = [word.arg for word in keywords]

        def call(*parts):
            first = len(parts) - len(names)
            return function(*parts[:first], **dict(zip(names, parts[first:], strict=True)))

        return call

    def _of_array(self, node, part, name, function):
        def on_array(x, *rest, **named):
            if not isinstance(x, _OWN):
                raise self._no_array(node, part, x, f"`{name}` is of arrays, not of a {type(x).__name__}")
            return function(x, *rest, **named)

        return on_array

    def _item(self, node):
        def item(x, key):
            if not isinstance(x, (*_OWN, tuple)):
                raise self._no_array(node, node.value, x, f"a {type(x).__name__} has no items here")
            return x[key]

        return item

    def _operation(self, node, how, *parts):
        def operation(*operands):
            for part, operand in zip(parts, operands, strict=True):
                if not isinstance(operand, (*_OWN, *_NUMBERS)):
                    raise self._no_array(node, part, operand, f"a {type(operand).__name__} is no operand: operands are arrays and numbers")
            if any(isinstance(operand, _OWN) for operand in operands):
                return how(*operands)
            return self._number(node, how, operands)

        return operation

    def _number(self, node, how, operands):
        """An operation on numbers only, which takes hardly any time and memory."""
        if how in (operator.pow, operator.lshift) and all(isinstance(operand, int) for operand in operands):
            base, exponent = operands
            bits = base.bit_length() * exponent if how is operator.pow else base.bit_length() + exponent
            if exponent > 0 and abs(base) > 1 - (how is operator.lshift) and bits > 128:
                raise self._refused(node, "the number has more than 64 bits: write a float, as in 9.0**9")
        try:
            result = how(*operands)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise self._refused(node, f"{error}") from None
        self._check_constant(node, result)
        return result

    def _check_constant(self, node, value):
        if type(value) is int and not -(1 << 63) <= value < 1 << 63:
            raise self._refused(node, "the number has more than 64 bits: write a float, as in 9.0**9")
        if not isinstance(value, (*_NUMBERS, str, type(None), type(...))):
            raise self._refused(node, f"{type(value).__name__} has no meaning here")

    def _no_array(self, node, part, value, problem):
        """The error for the value of a node's part that is no array: the argument is told, if it is one."""
        if not (isinstance(part, ast.Name) and part.id in self.names):
            return self._refused(node, problem)
        path = isinstance(value, (str, os.PathLike))
        instead = f"of an array in a file pass zerostride.open({str(value)!r})" if path else "pass an array or a number"
        return TypeError(f"the formula computes with `{part.id}`, which is a {type(value).__name__}: {instead}")

    def _told(self, node, parts):
        """Where in the formula an error is, and the shapes of the node's parts."""
        line, first, text, end, last = self._place(node)
        last = last if end == line else len(text) + 1
        # Not more of a long line than stands in one of a terminal.
        left = max(0, first - 1 - MOST_TOLD // 4)
        marked = (" " * (first - 1) + "^" * (last - first))[left : left + MOST_TOLD]
        shapes = {ast.unparse(part): tuple(value.shape) for part, value in parts if isinstance(value, _OWN)}
        told = ", ".join(f"{name} is {shape}" for name, shape in shapes.items() if len(name) <= MOST_TOLD)
        lines = ["in the formula", f"    {text[left : left + MOST_TOLD]}", f"    {marked}", told and f"where {told}"]
        return "\n".join(filter(None, lines))

    def _place(self, node):
        """The line and the column where a node begins, both from 1, that line, and where the node ends."""
        lines = self.text.splitlines() or [""]

        def place(line, column):
            return len(lines[line - 1].encode()[:column].decode(errors="ignore")) + 1

        line, end = node.lineno, node.end_lineno
        return line, place(line, node.col_offset), lines[line - 1], end, place(end, node.end_col_offset)

    def _refused(self, node, problem):
        """The error that points at a node."""
        return SyntaxError(problem, ("<expression>", *self._place(node)))
