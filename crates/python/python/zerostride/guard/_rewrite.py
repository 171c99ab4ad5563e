"""Owns the rewriting of a module: operators, assignments and known calls look at their operands first. What they look for is
the affair of ``_arrays.py``.

``a - b`` becomes ``sub(*look(a, b))``, with the place of the original on every new node: line numbers, tracebacks and
coverage stay as they were. What cannot involve two arrays, as ``i + 1``, is left alone.
"""

import ast

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or_", ast.BitXor: "xor", ast.BitAnd: "and_",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
"""The operators, by the names of their functions in ``operator``."""

CALLS = frozenset(
    # ufuncs of several operands
    "add subtract multiply divide true_divide floor_divide logaddexp logaddexp2 power float_power pow remainder mod fmod divmod "
    "heaviside gcd lcm arctan2 atan2 hypot greater greater_equal less less_equal not_equal equal logical_and logical_or "
    "logical_xor maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor left_shift right_shift copysign nextafter ldexp "
    # functions that broadcast
    "where clip isclose allclose copyto select lerp sub mul div eq ne lt le gt ge "
    # of scipy.special
    "xlogy xlog1py rel_entr kl_div huber pseudo_huber betaln beta binom "
    # distributions and random numbers
    "pdf logpdf pmf logpmf cdf logcdf sf logsf ppf isf log_prob normal uniform lognormal binomial gamma laplace logistic gumbel "
    # losses
    "l2_loss squared_error huber_loss log_cosh sigmoid_binary_cross_entropy cosine_similarity cosine_distance kl_divergence "
    "poly_loss_cross_entropy hinge_loss".split()
)
"""The last names of functions whose operands are broadcast together."""

_COMPILED = {"njit", "jit_module", "vectorize", "guvectorize", "cfunc", "stencil", "script", "kernel", "triton", "cuda", "numba"}
"""Decorators whose functions are compiled from what stands here, by compilers that know no guard."""

_NUMBERS = {"len", "int", "float", "str", "ord", "id", "hash", "repr", "isinstance", "type", "range", "bool", "round", "format"}


def rewrite(tree):
    """Rewrites the tree of a module, in place."""
    return _Rewriter().visit(tree)


class _Rewriter(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = OPERATORS.get(type(node.op))
        if name is None or _is_plain(node.left) or _is_plain(node.right):
            return node
        return _looked(name, node.left, node.right, node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        name = OPERATORS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if name is None or _is_plain(node.left) or _is_plain(node.comparators[0]):
            return node
        return _looked(name, node.left, node.comparators[0], node)

    def visit_AugAssign(self, node):
        node.value = self.visit(node.value)
        name = OPERATORS.get(type(node.op))
        if name is None or _is_plain(node.value) or not _is_pure(node.target):
            return node
        read = _as(node.target, ast.Load)
        value = _looked("i" + name.rstrip("_"), read, node.value, node)
        return _at(ast.Assign([node.target], value), node)

    def visit_Assign(self, node):
        node.value = self.visit(node.value)
        targets = [self.visit(target) for target in node.targets]
        target = targets[0]
        if len(targets) == 1 and isinstance(target, ast.Subscript) and _is_pure(target) and not _is_plain(node.value):
            read = _as(target, ast.Load)
            index = _index(read.slice)
            node.value = _at(ast.Call(_name("_@store"), [read.value, index, node.value], []), node)
        node.targets = targets
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if name not in CALLS or len(node.args) + len(node.keywords) + isinstance(node.func, ast.Attribute) < 2:
            return node
        held = _at(ast.Call(_name("_@partial"), [node.func, *node.args], node.keywords), node)
        asked = _at(ast.Call(_name("_@ask"), [held], []), node)
        return _at(ast.Call(asked, [], []), node)

    def visit_FunctionDef(self, node):
        decorators = {part for decorator in node.decorator_list for part in _parts(decorator)}
        if decorators & _COMPILED:
            return node
        # Annotations are texts for others, which may be read back.
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_arg(self, node):
        return node

    def visit_AnnAssign(self, node):
        if node.value:
            node.value = self.visit(node.value)
        return node

    def visit_match_case(self, node):
        node.guard = self.visit(node.guard) if node.guard else None
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_TypeAlias(self, node):
        return node


def _looked(name, left, right, place):
    look = _at(ast.Call(_name("_@look"), [left, right], []), place)
    return _at(ast.Call(_name(f"_@{name}"), [_at(ast.Starred(look, ast.Load()), place)], []), place)


def _at(node, place):
    """A node and what is new below it, at the place of an old one."""
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node


def _name(name):
    return ast.Name(name, ast.Load())


def _parts(node):
    """The names in a decorator."""
    return [part.attr if isinstance(part, ast.Attribute) else part.id for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute))]


def _is_plain(node):
    """Whether an expression cannot be an array: a literal, a size, a text."""
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.Lambda():
            return True
        case ast.ListComp() | ast.DictComp() | ast.SetComp() | ast.GeneratorExp():
            return True
        case ast.UnaryOp():
            return isinstance(node.op, ast.Not) or _is_plain(node.operand)
        case ast.BinOp():
            return _is_plain(node.left) and _is_plain(node.right)
        case ast.Call():
            return isinstance(node.func, ast.Name) and node.func.id in _NUMBERS
        case ast.Attribute():
            return node.attr in ("shape", "ndim", "size", "dtype", "pi", "inf", "nan", "__name__")
        case ast.Subscript():
            return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return False


def _is_pure(node):
    """Whether an expression may be evaluated twice: names, attributes of names, elements at names and numbers."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute():
            return isinstance(node.value, ast.Name)
        case ast.Subscript():
            return isinstance(node.value, ast.Name) and _is_pure(node.slice)
        case ast.Slice():
            return all(part is None or _is_pure(part) for part in (node.lower, node.upper, node.step))
        case ast.Tuple():
            return all(_is_pure(part) for part in node.elts)
        case ast.UnaryOp():
            return _is_pure(node.operand)
    return False


def _as(node, context):
    """A copy of a target, to be read."""
    copied = ast.parse(ast.unparse(node), mode="eval").body
    for part in ast.walk(copied):
        if "lineno" in part._attributes:
            ast.copy_location(part, node)
    return copied


def _index(node):
    """An index as a value: slices are made by name."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return ast.Call(_name("_@slice"), parts, [])
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_index(part) for part in node.elts], ast.Load())
    return node
