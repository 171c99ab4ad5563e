"""Owns what a report looks like: text, JSON, SARIF, and the lines that CI services show beside the code."""

import json
import os

from ._settings import relative

RULE = "implicit-broadcast"


def text(mistakes, root, known=0, gone=0, shown=()):
    """The report for people, the worst first, without those that have been shown with the tests that they fail."""
    if not mistakes and not known:
        return "no broadcast that was probably not meant"
    count = f"{len(mistakes)} broadcast{'s' * (len(mistakes) != 1)} that {'were' if len(mistakes) != 1 else 'was'} probably not meant"
    notes = [f"{known} known from the baseline"] * bool(known) + [f"{gone} of the baseline not met"] * bool(gone)
    lines = [f"{count}{' (' * bool(notes)}{', '.join(notes)}{')' * bool(notes)}"]
    if shown:
        lines.append("shown above, with the tests that failed" if len(shown) == len(mistakes) else f"{len(shown)} shown above, with the tests that failed; the others:")
    mistakes = [mistake for mistake in mistakes if mistake not in shown]
    for mistake in mistakes:
        lines.append(f"{relative(mistake.file, root)}:{mistake.line}: {mistake.message}")
        if mistake.text:
            lines.append(f"    {mistake.text}")
        where = f"in {mistake.function}, " if mistake.function != "<module>" else ""
        times = "once" if mistake.times == 1 else f"{mistake.times} times"
        factor = f", x{mistake.factor} the elements" if mistake.factor > 1 else ""
        lines.append(f"    {where}{times}, {mistake.bytes:,} bytes{factor}: {', '.join(mistake.classes)}")
        if mistake.repairs:
            lines.append(f"    to combine them element by element: {' or '.join(mistake.repairs)}")
        if mistake.tests:
            more = f" and {len(mistake.tests) - 1} more" if len(mistake.tests) > 1 else ""
            lines.append(f"    met by {mistake.tests[0]}{more}")
    if mistakes:
        lines.append("Is one of them meant? Write it so that a reader sees it: x[:, None], unsqueeze, keepdim=True, reshape.")
    return "\n".join(lines)


def as_json(mistakes, root, known=0, gone=0):
    listed = [mistake.to_dict() | {"file": relative(mistake.file, root)} for mistake in mistakes]
    return json.dumps({"version": 1, "mistakes": listed, "known": known, "gone": gone}, indent=1, ensure_ascii=False)


def sarif(mistakes, root, known=0, gone=0):
    """SARIF 2.1.0, which code hosts show beside the lines."""
    results = [
        {
            "ruleId": RULE,
            "level": "warning",
            "message": {"text": _sentence(mistake)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": relative(mistake.file, root)},
                        "region": {"startLine": mistake.line, "snippet": {"text": mistake.text}},
                    },
                    "logicalLocations": [{"fullyQualifiedName": mistake.function}],
                }
            ],
        }
        for mistake in mistakes
    ]
    rule = {"id": RULE, "shortDescription": {"text": "A broadcast that was probably not meant"}}
    run = {"tool": {"driver": {"name": "zerostride", "rules": [rule]}}, "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False)


def github(mistakes, root, known=0, gone=0):
    """Workflow commands: a line for each mistake."""
    lines = []
    for mistake in mistakes:
        file = _escaped(relative(mistake.file, root), ":,")
        lines.append(f"::warning file={file},line={mistake.line},title=implicit broadcast::{_escaped(_sentence(mistake))}")
    return "\n".join(lines)


FORMATS = {"text": text, "json": as_json, "sarif": sarif, "github": github}


def by_ending(path):
    """The format that a file is written in."""
    endings = {".json": as_json, ".sarif": sarif, ".txt": text}
    found = endings.get(os.path.splitext(path)[1])
    if found is None:
        raise ValueError(f"{path}: a report's name ends in {', '.join(endings)}")
    return found


def is_ci():
    """Whether a service runs this that shows lines beside the code."""
    return os.environ.get("GITHUB_ACTIONS") == "true" or os.environ.get("CI") in ("true", "1")


def _sentence(mistake):
    repairs = f"; to combine them element by element: {' or '.join(mistake.repairs)}" if mistake.repairs else ""
    return mistake.message + repairs


def _escaped(value, more=""):
    value = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for sign in more:
        value = value.replace(sign, f"%{ord(sign):02X}")
    return value
