"""Runs the standard's own test suite on ``zerostride.array_api``: ``python array_api_suite.py CHECKOUT [PYTEST ARGUMENT...]``.

CHECKOUT is a clone of https://github.com/data-apis/array-api-tests with its submodules, whose requirements are installed.
What is expected to fail, and why, stands in ``array_api_xfails.txt``; the last line counts passed, failed and xfailed.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    checkout = pathlib.Path(sys.argv[1])
    if not (checkout / "array_api_tests").is_dir():
        sys.exit(f"{checkout} is no clone of array-api-tests: it has no folder array_api_tests")
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": "zerostride.array_api",
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "ARRAY_API_TESTS_SKIP_DTYPES": "",
    }
    command = [sys.executable, "-m", "pytest", "array_api_tests"]
    command += ["--hypothesis-derandomize", "--xfails-file", str(HERE / "array_api_xfails.txt"), *sys.argv[2:]]
    sys.exit(subprocess.run(command, cwd=checkout, env=environment).returncode)


if __name__ == "__main__":
    main()
