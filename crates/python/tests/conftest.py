"""What all tests share: torch where it can be had, and a line that says what was left out where it cannot."""

import importlib.util

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_report_header():
    if not HAS_TORCH:
        return "torch is not installed: tests against it are skipped"
    return "torch is installed: tests against it run"


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")
