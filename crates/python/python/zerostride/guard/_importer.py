"""Owns the import hook: the user's modules are rewritten when they are imported, and so are pytest's test modules, whose
assertions pytest rewrites first. Nothing in libraries is touched.
"""

import ast
import builtins
import fnmatch
import importlib.machinery
import importlib.util
import itertools
import marshal
import os
import pathlib
import sys
import types

from . import _frames, _rewrite
from ._arrays import NAMES

VERSION = "zs1"
"""Changes whenever rewritten code does: it is part of the names of cached files."""


class Finder:
    """Finds what the finders behind it find, and has the user's modules loaded by the loaders below."""

    def __init__(self, skip=(), when_imported=()):
        self.skip = tuple(skip)
        self.when_imported = dict(when_imported)

    def find_spec(self, name, path=None, target=None):
        spec = None
        behind = itertools.dropwhile(lambda finder: finder is not self, list(sys.meta_path))
        for finder in itertools.islice(behind, 1, None):
            if hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
        if spec is None or spec.loader is None:
            return spec
        if name in self.when_imported:
            spec.loader = _Then(spec.loader, self.when_imported[name])
        elif spec.origin and spec.origin.endswith(".py") and _frames.is_users(spec.origin) and not self._is_skipped(name):
            if type(spec.loader) is importlib.machinery.SourceFileLoader:
                spec.loader = Loader(name, spec.origin)
            elif type(spec.loader).__name__ == "AssertionRewritingHook":
                spec.loader = AssertingLoader(name, spec.origin, spec.loader)
        return spec

    def _is_skipped(self, name):
        return any(fnmatch.fnmatch(name, skipped) for skipped in self.skip)

    def invalidate_caches(self):
        """Finders are asked for this; this one remembers nothing."""


_loaded = {}
"""By file, the loader and the code of modules that were rewritten, until the code without a guard is asked for."""

_originals = {}
"""By the identity of code that was rewritten, that code and the one without a guard."""


def original(code):
    """The code as it would be without a guard: for compilers of Python, which are to see what stands in the program."""
    loader, module = _loaded.pop(code.co_filename, (None, None))
    if loader is not None:
        try:
            tree = loader.tree(loader.get_data(code.co_filename), code.co_filename)
            _pair(module, compile(tree, code.co_filename, "exec", dont_inherit=True))
        except (OSError, SyntaxError, ValueError):  # The file is not what it was.
            return code
    return _originals.get(id(code), (code, code))[1]


def _pair(rewritten, code):
    """Rewriting leaves functions where they are."""
    _originals[id(rewritten)] = rewritten, code
    inner = [[part for part in of.co_consts if isinstance(part, types.CodeType)] for of in (rewritten, code)]
    for one, other in zip(*inner, strict=True):
        if (one.co_name, one.co_firstlineno) != (other.co_name, other.co_firstlineno):
            raise ValueError("the file has changed")
        _pair(one, other)


class _Then:
    """A loader of which something depends: when the module is there, a function is called."""

    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module whose operations look at their operands."""

    tag = VERSION

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = self.get_data(path)
        cache = _cache_of(path, self.tag)
        stamp = importlib.util.source_hash(source)
        code = _cached(cache, stamp)
        if code is None:
            code = self.source_to_code(source, path)
            if not sys.dont_write_bytecode:
                _write(cache, stamp, code)
        _loaded[path] = self, code
        return code

    def source_to_code(self, data, path, *, _optimize=-1):
        try:
            code = compile(_rewrite.rewrite(self.tree(data, path)), path, "exec", dont_inherit=True, optimize=_optimize)
        except RecursionError:
            # An expression of a thousand parts gets deeper when it is rewritten: it is left as it is.
            return compile(data, path, "exec", dont_inherit=True, optimize=_optimize)
        _loaded[path] = self, code
        return code

    def tree(self, source, path):
        """The module as it would be without a guard."""
        tree = ast.parse(source, filename=path)
        self.prepare(tree, source, path)
        return tree

    def prepare(self, tree, source, path):
        """What is done to the tree before it is rewritten: nothing."""

    def create_module(self, spec):
        # Not in `exec_module`, whose frame would stand in every traceback through an import.
        module = types.ModuleType(spec.name)
        module.__dict__.update(NAMES)
        return module


class AssertingLoader(Loader):
    """Loads a module whose assertions pytest rewrites first, so that its messages show the program's text."""

    def __init__(self, name, path, hook):
        super().__init__(name, path)
        self.hook = hook
        self.tag = f"{VERSION}-pytest-{sys.modules['pytest'].__version__}-{int(hook.config.getini('enable_assertion_pass_hook'))}"

    def prepare(self, tree, source, path):
        from _pytest.assertion.rewrite import rewrite_asserts

        rewrite_asserts(tree, source, path, self.hook.config)

    def create_module(self, spec):
        self.hook._rewritten_names[spec.name] = pathlib.Path(spec.origin)
        return super().create_module(spec)

    def get_resource_reader(self, name):
        return self.hook.get_resource_reader(name)


def _cache_of(path, tag):
    try:
        return importlib.util.cache_from_source(path, optimization=tag.replace("-", "").replace(".", ""))
    except NotImplementedError:
        return None


def _cached(cache, stamp):
    try:
        with open(cache, "rb") as file:
            data = file.read()
        return marshal.loads(data[24:]) if data[:16] == importlib.util.MAGIC_NUMBER.ljust(8) + stamp else None
    except (OSError, TypeError, ValueError, EOFError):
        return None


def _write(cache, stamp, code):
    """Writes a file that another process may read at the same time."""
    if cache is None:
        return
    part = f"{cache}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(cache), exist_ok=True)
        with open(part, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER.ljust(8) + stamp + bytes(8) + marshal.dumps(code))
        os.replace(part, cache)
    except OSError:
        return


def install(skip=(), when_imported=()):
    """Puts the hook before all others, and returns a function that takes it away."""
    finder = Finder(skip, when_imported)
    sys.meta_path.insert(0, finder)
    # Code that runs under other globals than its module's finds the names here.
    for name, value in NAMES.items():
        setattr(builtins, name, value)

    def remove():
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return remove
