"""Owns the guard inside pytest: which tests met which mistakes, what fails, and what is written at the end.

The plugin that pytest loads is ``pytest_zerostride``, which costs nothing; it makes a ``Plugin`` when it is asked to.
"""

import dataclasses
import os
import sys

import pytest

from . import _formats, _importer
from ._baseline import Baseline
from ._guard import Guard
from ._record import Mistake
from ._settings import MODES, Settings


class Plugin:
    """One run of pytest under guard. Workers of pytest-xdist send what they found to the process that reports it."""

    def __init__(self, config):
        option = config.known_args_namespace if hasattr(config, "known_args_namespace") else config.option
        self.root = str(config.rootpath)
        try:
            settings = Settings.read(self.root)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
        self.update = option.broadcasts_update
        path = option.broadcasts_baseline or config.getini("broadcasts_baseline") or settings.baseline
        self.mode = mode_of(config, option, settings, path)
        self.baseline = self._baseline(path)
        self.output = option.broadcasts_output
        if self.output:
            try:
                _formats.by_ending(self.output)
            except ValueError as error:
                raise pytest.UsageError(str(error)) from None
        self.guard = Guard(settings.classes, settings.max_bytes, settings.allow)
        self.skip = settings.skip
        self.mistakes = {}
        self.failed = set()
        self._undo = []

    def _baseline(self, path):
        if not path:
            if self.update:
                raise pytest.UsageError("--broadcasts-update writes a baseline: name it with --broadcasts-baseline=FILE")
            return None
        path = os.path.join(self.root, path)
        if self.update:
            return Baseline(path, self.root)
        try:
            return Baseline.read(path, self.root)
        except FileNotFoundError:
            raise pytest.UsageError(f"--broadcasts-baseline: there is no {path}: write it with --broadcasts-update") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise pytest.UsageError(f"--broadcasts-baseline: {error}") from None

    def start(self):
        """Before the first conftest.py is imported, so that it is rewritten too."""
        self.guard.__enter__()
        self._undo = [_importer.install(self.skip, {"torch": self._open_torch})]
        if "torch" in sys.modules:
            self._open_torch()

    def _open_torch(self):
        from . import _torch

        eye = _torch.eye()
        eye.__enter__()
        self._undo.append(lambda: eye.__exit__(None, None, None))

    def pytest_unconfigure(self):
        while self._undo:
            self._undo.pop()()
        if self.guard is not None:
            self.guard.__exit__()
            self.guard = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        marks = list(item.iter_markers("broadcasts"))
        is_allowed = any("allow" in mark.args for mark in marks)
        self.guard.suspended += is_allowed
        self.guard.since(None)  # what was met while modules were imported is no test's
        try:
            return (yield)
        finally:
            self.guard.suspended -= is_allowed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if met := self.guard.since(item.nodeid):
            item.user_properties.extend(("broadcast", f"{mistake.file}:{mistake.line}: {mistake.message}") for mistake in met)
            report.user_properties = list(item.user_properties)
            new = [mistake for mistake in met if not self._is_known(self.guard.first(mistake))]
            if new and self.mode == "error" and report.passed:
                report.outcome = "failed"
                report.longrepr = _formats.text(new, self.root)
        return report

    def pytest_runtest_logreport(self, report):
        # In the process that reports, also of workers' tests.
        if report.failed and isinstance(report.longrepr, str) and any(name == "broadcast" for name, _ in report.user_properties):
            self.failed.add(report.nodeid)

    def _is_known(self, mistake):
        return self.baseline is not None and (self.update or self.baseline.knows(mistake))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        for values in getattr(node, "workeroutput", {}).get("broadcasts", ()):
            self._add(Mistake(**values))

    def _add(self, mistake):
        mistake.shapes = tuple(map(tuple, mistake.shapes))
        mistake.names = tuple(mistake.names)
        known = self.mistakes.setdefault(mistake.place, mistake)
        if known is not mistake:
            known.times += mistake.times
            known.tests += [test for test in mistake.tests if test not in known.tests]

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        config = session.config
        if hasattr(config, "workeroutput"):
            config.workeroutput["broadcasts"] = [dataclasses.asdict(mistake) for mistake in self.guard.mistakes]
            return (yield)
        result = yield
        for mistake in self.guard.mistakes:
            self._add(mistake)
        if self.update:
            self.baseline.write(self.mistakes.values())
        if self.output:
            written = _formats.by_ending(self.output)(self._new(), self.root, self._known(), self._gone())
            with open(self.output, "w", encoding="utf-8") as file:
                file.write(written + "\n")
        if self.mode == "error" and self._new() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def _new(self):
        new = [mistake for mistake in self.mistakes.values() if not self._is_known(mistake)]
        return sorted(new, key=lambda mistake: mistake.severity, reverse=True)

    def _known(self):
        return 0 if self.update else len(self.mistakes) - len(self._new())

    def _gone(self):
        return 0 if self.baseline is None or self.update else self.baseline.gone

    def pytest_terminal_summary(self, terminalreporter):
        new = self._new()
        terminalreporter.section("implicit broadcasts", yellow=bool(new), bold=bool(new))
        if self.update:
            terminalreporter.write_line(f"{self.baseline.path}: broadcasts that are known now: {len(self.mistakes)}")
            return
        shown = [mistake for mistake in new if not self.failed.isdisjoint(mistake.tests)]
        terminalreporter.write_line(_formats.text(new, self.root, self._known(), self._gone(), shown))
        if _formats.is_ci() and new:
            terminalreporter.write_line(_formats.github(new, self.root))

    def pytest_report_header(self):
        return f"broadcasts: {self.mode}"


def mode_of(config, option, settings, baseline):
    """The command line, then pytest's configuration, then the project's; a baseline that is asked for is one to hold to."""
    asked = option.broadcasts or config.getini("broadcasts") or (settings.mode if settings.mode != "off" else None)
    mode = asked or ("report" if option.broadcasts_update else "error" if baseline else "off")
    if mode not in MODES:
        raise pytest.UsageError(f"broadcasts = {mode} is none of {', '.join(MODES)}")
    return mode
