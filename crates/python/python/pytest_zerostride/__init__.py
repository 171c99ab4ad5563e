"""Owns what pytest loads in every project where zerostride is installed: options, and nothing else until one is used.

It imports neither zerostride nor NumPy. ``zerostride.guard`` does the work.
"""

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("broadcasts", "implicit broadcasts (zerostride)")
    option = group.addoption
    option("--broadcasts", choices=["off", "report", "error"], help="find broadcasts that were probably not meant; error: tests that make them fail")
    option("--broadcasts-baseline", metavar="FILE", help="broadcasts that are known, and do not fail")
    option("--broadcasts-update", action="store_true", help="write the baseline from this run")
    option("--broadcasts-output", metavar="FILE", help="write the report to a .json, .sarif or .txt file")
    parser.addini("broadcasts", "off, report or error, where --broadcasts is not given")
    parser.addini("broadcasts_baseline", "the baseline, where --broadcasts-baseline is not given")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if _is_asked(early_config, early_config.known_args_namespace):
        from zerostride.guard._pytest import Plugin

        plugin = Plugin(early_config)
        if plugin.mode != "off":
            early_config.pluginmanager.register(plugin, "zerostride-guard")
            plugin.start()


def pytest_configure(config):
    config.addinivalue_line("markers", 'broadcasts("allow"): implicit broadcasts of this test are meant')


def _is_asked(config, option):
    """Whether an option, pytest's configuration or the project's speaks of broadcasts."""
    if option.broadcasts:
        return option.broadcasts != "off"
    if option.broadcasts_baseline or option.broadcasts_update or config.getini("broadcasts") or config.getini("broadcasts_baseline"):
        return True
    try:
        return b"[tool.zerostride]" in (config.rootpath / "pyproject.toml").read_bytes()
    except OSError:
        return False
