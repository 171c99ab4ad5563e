"""Owns the command that runs a program under guard: ``python -m zerostride.guard script.py …``."""

import argparse
import contextlib
import os
import runpy
import sys
import types

from . import _formats, _importer
from ._baseline import Baseline
from ._guard import Guard
from ._settings import MODES, Settings

EPILOG = """examples:
  python -m zerostride.guard train.py --epochs 1
  python -m zerostride.guard --broadcasts=error -m mypackage.train
  python -m zerostride.guard --format=sarif --output=report.sarif train.py

Exit status: the program's, or 1 if it is 0, a broadcast was found and --broadcasts=error. With pytest: pytest --broadcasts=report.
"""


def parser():
    found = argparse.ArgumentParser(
        prog="python -m zerostride.guard",
        description="Runs a program and reports implicit broadcasts that were probably not meant.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--broadcasts", choices=MODES, help="report (the default) or error: exit with 1 if there are any")
    found.add_argument("--format", choices=list(_formats.FORMATS), default="text", help="what the report looks like")
    found.add_argument("--output", metavar="FILE", help="where the report goes; by default text to standard error, the others to standard output")
    found.add_argument("--baseline", "--broadcasts-baseline", metavar="FILE", help="broadcasts that are known")
    found.add_argument("--update", "--broadcasts-update", action="store_true", help="write the baseline from this run")
    found.add_argument("-m", dest="is_module", action="store_true", help="the program is a module")
    found.add_argument("program", help="a script, or with -m a module")
    found.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets")
    return found


def main(arguments=None):
    command = parser()
    given = command.parse_args(arguments)
    root = os.getcwd()
    try:
        settings = Settings.read(root)
        path = given.baseline or settings.baseline
        if given.update and not path:
            command.error("--update writes a baseline: name it with --baseline=FILE")
        baseline = Baseline(path, root) if given.update else Baseline.read(path, root) if path else None
    except (OSError, ValueError) as error:
        command.error(str(error))
    mode = given.broadcasts or (settings.mode if settings.mode != "off" else "report")
    if not given.is_module and not os.path.exists(given.program):
        command.error(f"there is no file {given.program}")
    if mode == "off":
        return _run(given)
    guard = Guard(settings.classes, settings.max_bytes, settings.allow)
    with guard, contextlib.ExitStack() as eyes:
        eyes.callback(_importer.install(settings.skip, {"torch": lambda: _open_torch(eyes)}))
        status = _run(given)
    if given.update:
        baseline.write(guard.mistakes)
        return status
    new = [mistake for mistake in guard.mistakes if baseline is None or not baseline.knows(mistake)]
    known = len(guard.mistakes) - len(new)
    report = _formats.FORMATS[given.format](new, root, known, baseline.gone if baseline else 0)
    stream = sys.stderr if given.format == "text" else sys.stdout
    with open(given.output, "w", encoding="utf-8") if given.output else contextlib.nullcontext(stream) as file:
        print(report, file=file)
    return 1 if status == 0 and new and mode == "error" else status


def _open_torch(eyes):
    from . import _torch

    eyes.enter_context(_torch.eye())


def _run(given):
    """Runs the program as Python would, and gives its exit status."""
    sys.argv = [given.program, *given.arguments]
    try:
        if given.is_module:
            sys.path[0] = os.getcwd()
            runpy.run_module(given.program, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(given.program))
            _run_script(given.program)
    except SystemExit as end:
        return _status(end)
    except BaseException:
        kind, error, trace = sys.exc_info()
        while trace and trace.tb_frame.f_code.co_filename in (_run.__code__.co_filename, "<frozen runpy>"):
            trace = trace.tb_next
        sys.excepthook(kind, error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_script(path):
    loader = _importer.Loader("__main__", path)
    module = types.ModuleType("__main__")
    module.__dict__.update(_importer.NAMES, __file__=path, __builtins__=__builtins__)
    code = loader.source_to_code(loader.get_data(path), path)
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def _status(end):
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
