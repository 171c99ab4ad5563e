"""Owns the search for what a fused function reads from outside: globals, its closure and attributes of
modules, and which of these never change; and the names of its parameters. It reads bytecode, so that nothing runs. It does not know their
values (``signature.rs``)."""

import collections
import dis
import enum
import inspect
import sys
import types
import weakref

from . import _zerostride

# Modules and functions whose results differ from call to call.
_VARYING = {"datetime", "os", "random", "secrets", "time", "uuid"}
_RANDOM = {"rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "normal", "bernoulli", "multinomial", "dropout"}

# Functions of other libraries are assumed not to change while a program runs.
_LIBRARIES = (sys.stdlib_module_names | {"zerostride", "numpy", "torch", "jax", "jaxlib", "scipy"}) - _VARYING - {"__main__"}

# Functions by which code reads names that its bytecode does not contain.
_UNSEEN = (eval, exec, globals, locals, vars, __import__, open, input)

_FUNCTIONS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_VALUES = (bool, int, float, complex, str, bytes, tuple, type(None))
_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE

# Classes whose attribute lookup is Python's default; then descriptors that store values in each object: slots
# and the fields of named tuples.
_LOOKUPS = (object.__getattribute__, types.SimpleNamespace.__getattribute__, tuple.__getattribute__, type.__getattribute__)
_FIELDS = (types.MemberDescriptorType, type(collections.namedtuple("Field", "value").value))
_NOTHING = object()

_read_by = weakref.WeakKeyDictionary()


def known(value):
    """What identifies an object that never changes: itself, or a tuple that is its value; ``None`` for all
    others."""
    kind = type(value)
    if kind is _zerostride.dtype or value is Ellipsis or value is NotImplemented:
        return value
    if isinstance(value, enum.Enum):
        return value if isinstance(value.value, (int, float, str, bytes, type(None))) else None
    if isinstance(value, type):
        never = value.__flags__ & _IMMUTABLE_TYPE or _is_library(value.__module__) or issubclass(value, enum.Enum)
        return value if never else None
    if isinstance(value, types.ModuleType):
        return value if _is_library(value.__name__) else None
    if isinstance(value, _FUNCTIONS):
        owner = getattr(value, "__self__", None)
        varies = value.__name__ in _RANDOM or (owner is not None and not isinstance(owner, types.ModuleType))
        return None if varies or _root(getattr(value, "__module__", None)) in _VARYING else value
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        if isinstance(value, numpy.generic) and not isinstance(value, numpy.void):
            return kind, value.tobytes()
        if isinstance(value, numpy.dtype):
            is_plain = value.fields is None and value.subdtype is None and value.metadata is None
            return ("numpy.dtype", value.name, value.str) if is_plain else None
        if isinstance(value, numpy.ufunc):
            return value if vars(numpy).get(value.__name__) is value else None
    if torch is not None and isinstance(value, (torch.dtype, torch.device)):
        return "torch", str(value)
    is_function = isinstance(value, types.FunctionType) or kind.__name__ == "_ArrayFunctionDispatcher"
    return value if is_function and _is_library(value.__module__) and value.__name__ not in _RANDOM else None


def parameters(function):
    """The names of the positional parameters of a function, as far as it has them."""
    if hasattr(function, "_parameters"):
        return function._parameters
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def places(function):
    """``(holder, name, attributes, fixed)`` for all that a function, and those that it calls, read from
    outside: a dict and a key, or another object and an attribute, then attributes of the value there.
    ``fixed`` values are compared by identity. ``None`` if the function may read what its code does not show.
    """
    found = {}
    return list(found.values()) if _follow(function, found, set()) else None


def _root(module):
    return module.partition(".")[0] if isinstance(module, str) else None


def _is_library(module):
    return _root(module) in _LIBRARIES


def _follow(function, found, seen):
    """Adds what a function reads; ``False`` if that cannot be determined."""
    # A function of the leaves of structures reads what that of the structures reads.
    function = getattr(function, "_reads_of", function)
    if isinstance(function, _zerostride.Fused):
        function = function.__wrapped__
    if known(function) is function:
        return True
    # Other callables may not be hashable.
    if type(function) is not types.FunctionType:
        return False
    if function in seen or _is_library(function.__globals__.get("__name__")):
        return True
    seen.add(function)
    _add(found, function, "__code__", True)
    for defaults in ("__defaults__", "__kwdefaults__"):
        if getattr(function, defaults):
            _add(found, function, defaults, False)
    reads = _reads(function.__code__)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return reads is not None and all(_resolve(function, cells, read, found, seen) for read in reads)


def _resolve(function, cells, read, found, seen):
    """Adds a name that a function reads, with its attributes if it is a module."""
    is_global, name, *attributes = read
    if is_global:
        holder = function.__globals__
        value = holder.get(name, function.__builtins__.get(name))
    elif name in cells:
        holder, name = cells[name], "cell_contents"
        try:
            value = holder.cell_contents
        except ValueError:  # Nothing has been assigned yet.
            value = None
    else:
        return True  # A name of the function around it, of which it is a part.
    if any(value is function for function in _UNSEEN):
        return False
    while isinstance(value, types.ModuleType) and not _is_library(value.__name__):
        _add(found, holder, name, True)
        if not attributes:
            return False  # The module is handed on.
        holder, name, *attributes = vars(value), *attributes
        value = holder.get(name)
    inner = value
    for attribute in attributes:
        # Functions of a library do not change, but its state may.
        if not isinstance(inner, types.ModuleType):
            break
        inner = getattr(inner, attribute, None)
    if isinstance(value, types.ModuleType) and not isinstance(inner, (types.ModuleType, *_VALUES)) and known(inner) is None:
        return False
    is_function = isinstance(value, (types.FunctionType, _zerostride.Fused))
    if not is_function and known(value) is None:
        # For an object, the attributes that are read count.
        path = []
        for attribute in attributes:
            if not _is_stored(value, attribute):
                break
            path.append(attribute)
            value = getattr(value, attribute)
        if isinstance(value, types.ModuleType):
            return False  # What is read of it is not followed.
        _add(found, holder, name, known(value) is value, *path)
        return True
    _add(found, holder, name, is_function or known(value) is value)
    # A function's attributes can be anything.
    return not is_function or _is_library(value.__module__) or (not attributes and _follow(value, found, seen))


def _is_stored(value, name):
    """Whether an attribute is a stored value of an object or its class, so that reading it runs no code, as a
    property would."""
    kind = type(value)
    if type.__getattribute__(kind, "__getattribute__") not in _LOOKUPS or (isinstance(value, type) and kind is not type):
        return False
    stored = inspect.getattr_static(value, name, _NOTHING)
    return stored is not _NOTHING and (type(stored) in _FIELDS or not hasattr(type(stored), "__get__"))


def _add(found, holder, name, fixed, *attributes):
    found[id(holder), name, *attributes] = holder, name, attributes, fixed


def _reads(code):
    """The names that code reads from outside, each as: whether it is a global, the name, the attributes that
    follow. ``None`` if it imports anything but libraries, since that binds names that the code does not show.
    """
    if code not in _read_by:
        _read_by[code] = _read(code)
    return _read_by[code]


def _read(code):
    reads = set()
    instructions = [instruction for instruction in dis.get_instructions(code) if instruction.opname != "EXTENDED_ARG"]
    for place, instruction in enumerate(instructions):
        name = instruction.opname
        if name == "IMPORT_NAME" and not _is_library(instruction.argval):
            return None
        if name.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT")):
            attributes = []
            for following in instructions[place + 1 :]:
                if not following.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
                    break
                attributes.append(following.argval)
            reads.add((name.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")), instruction.argval, *attributes))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _reads(constant)
            if inner is None:
                return None
            reads |= inner
    return reads
