"""Runs a document's examples with what a user has installed, in an empty folder: no clone, no compiler.

    python examples.py python README.md             every `python` block, twice, with the package of this Python
    python examples.py shell README.md --zs PATH    every `console` block, whose answers must be those shown
    python examples.py rust README.md > main.rs     a program of every `rust` block, to build with the crates

It makes what the examples read: `huge.npy` for Python, the document's `examples/data` for the shell.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)


def run_python(found):
    import numpy as np

    np.save("huge.npy", np.random.rand(1000, 64))
    # A reader runs them again, in the folder that they have been run in.
    for names in {}, {}:
        for number, block in enumerate(found, 1):
            exec(compile(block, f"block {number}", "exec"), names)


def run_shell(found, zs):
    """Compares what `zs` shows, on two threads, with what stands in the document."""
    kept = {name: value for name, value in os.environ.items() if not re.match("LC_|LANG|COLUMNS|CLICOLOR", name)}
    wrong = 0
    for block in found:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, stands = part.partition("\n")
            words = shlex.split(command)
            ended = subprocess.run(
                [zs, *words[1:]],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                env={**kept, "RAYON_NUM_THREADS": "2"},
            )
            shown = ended.stdout + (f"# exit {ended.returncode}\n" if ended.returncode else "")
            if shown != stands:
                wrong += 1
                print(f"$ {command}\n--- the document:\n{stands}--- now:\n{shown}", file=sys.stderr)
    return wrong


def rust_program(found):
    bodies = []
    for number, block in enumerate(found, 1):
        lines = [line[2:] if line.startswith("# ") else line for line in block.splitlines()]
        bodies.append(f"fn block_{number}() -> Result<(), zerostride::Error> {{\n" + "\n".join(lines) + "\n}\n")
    calls = "".join(f"    block_{number}()?;\n" for number in range(1, len(found) + 1))
    return "\n".join(bodies) + f"\nfn main() -> Result<(), zerostride::Error> {{\n{calls}    Ok(())\n}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=["python", "shell", "rust"])
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("--zs", type=pathlib.Path)
    arguments = parser.parse_args()
    document = arguments.document.read_text(encoding="utf-8")
    found = blocks(document, "console" if arguments.language == "shell" else arguments.language)
    if not found:
        sys.exit(f"{arguments.document}: no examples")
    if arguments.language == "rust":
        print(rust_program(found))
        return
    data = arguments.document.resolve().parent / "examples/data"
    zs = arguments.zs and arguments.zs.resolve()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.chdir(folder)
        if arguments.language == "python":
            run_python(found)
        else:
            shutil.copytree(data, "examples/data")
            wrong = run_shell(found, zs)
        os.chdir(home)
    print(f"{arguments.document}: {len(found)} blocks of {arguments.language}, {wrong} answers differ", file=sys.stderr)
    sys.exit(wrong > 0)


main()
