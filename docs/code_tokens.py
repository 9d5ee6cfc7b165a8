"""Counts the code tokens of a package, at an earlier commit and in the working tree.

    python docs/code_tokens.py
    python docs/code_tokens.py expunge/losses --before c9df91d --files

A code token is a name, a number, a string or an operator. Comments, docstrings, line ends and
indentation do not count, so a file does not grow by being explained or wrapped. A formatted
string is one token, on every version of Python.

The default commit is the last one before the unlearning package was rebuilt. Files that hold
nothing but features that the package did not have then are counted apart, so that what it did then
can be compared with what the same takes now. They are named below, feature by feature; a file with
a line for anything older is not among them, however much of it is new.
"""

import ast
import io
import subprocess
import sys
import tarfile
import tokenize
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ADDED", "count_tokens", "summary", "table", "tokens_at_commit", "tokens_in_tree"]

ROOT = Path(__file__).parents[1]
BEFORE = "c9df91d"  # the last commit before `unlearning` was rebuilt
# Features that came after it, with the files that hold nothing else.
ADDED = {
    "requests answered without a pass over the records": (
        "expunge/unlearning/linear/anchor.py",
        "expunge/unlearning/linear/distance_bound.py",
        "expunge/unlearning/linear/few_records.py",
        "expunge/unlearning/linear/newton_step.py",
        "expunge/unlearning/linear/pass_free.py",
        "expunge/unlearning/linear/refreshing.py",
    ),
    "records that join a fitted model": (
        "expunge/unlearning/joined_ids.py",
        "expunge/unlearning/linear/arrivals.py",
        "expunge/unlearning/linear/growing_rows.py",
        "expunge/unlearning/linear/joining.py",
        "expunge/unlearning/room.py",
    ),
    "an interrupt leaves the state that the rows belong to": ("expunge/unlearning/interrupts.py",),
    "certificates held against what a fit promised": ("expunge/unlearning/promise.py",),
    "noisy descent at a step size and a radius that are given": (
        "expunge/unlearning/linear/given_settings.py",
    ),
    "several requests that one model honours": ("expunge/unlearning/batch_requests.py",),
    "no private record decides whether a request is honoured": (
        "expunge/unlearning/networks/not_finite.py",
    ),
    "strategies of other packages": ("expunge/unlearning/foreign_strategies.py",),
    "preprocessing in front, fitted on public records": (
        "expunge/unlearning/linear/named_steps.py",
        "expunge/unlearning/linear/pipeline.py",
    ),
    "rows saved in chunks, and left on disk until they are asked for": (
        "expunge/unlearning/linear/saved_rows.py",
        "expunge/unlearning/linear/stored_fit.py",
    ),
    "settings from public records, and warnings of poor ones": (
        "expunge/unlearning/linear/capacity_curve.py",
        "expunge/unlearning/linear/poor_settings.py",
        "expunge/unlearning/linear/public_folds.py",
        "expunge/unlearning/linear/public_ridge.py",
        "expunge/unlearning/linear/public_settings.py",
        "expunge/unlearning/linear/rehearsal.py",
    ),
    "sparse rows": (
        "expunge/unlearning/linear/checked_rows.py",
        "expunge/unlearning/linear/chunk_columns.py",
    ),
    "weights of labels, and a refusal of those of records": (
        "expunge/unlearning/linear/label_weights.py",
    ),
    "the model of public records alone, to evaluate others beside": (
        "expunge/unlearning/linear/public_model.py",
    ),
}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
FORMATTED_START = getattr(tokenize, "FSTRING_START", None)  # Python 3.12 and later
FORMATTED_END = getattr(tokenize, "FSTRING_END", None)


def count_tokens(source: str) -> int:
    """The number of code tokens of a source text."""
    documented = _documented_lines(source)
    count, depth = 0, 0  # depth: formatted strings that are open
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == FORMATTED_END:
            depth -= 1
        inside = depth > 0
        if token.type == FORMATTED_START:
            depth += 1
        prose = token.type == tokenize.STRING and token.start[0] in documented
        count += not (inside or prose or token.type in LAYOUT or token.type == FORMATTED_END)
    return count


def _documented_lines(source: str) -> set[int]:
    """Lines of strings that stand alone as a statement: docstrings, and notes on fields."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def tokens_in_tree(package: str) -> dict[str, int]:
    """Code tokens of every Python file of a package as it lies in the working tree."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return {str(path.relative_to(ROOT)): count_tokens(path.read_text()) for path in paths}


def tokens_at_commit(package: str, commit: str) -> dict[str, int]:
    """Code tokens of every Python file of a package at a commit.

    Raises:
        LookupError: git knows no such commit, or no such folder there.
    """
    command = ["git", "archive", commit, package]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if answer.returncode:
        raise LookupError(f"{package} at {commit}: {answer.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(answer.stdout)) as archive:
        members = [member for member in archive if member.name.endswith(".py")]
        streams = {member.name: archive.extractfile(member) for member in members}
        return {
            name: count_tokens(stream.read().decode())
            for name, stream in sorted(streams.items())
            if stream is not None
        }


def table(before: dict[str, int], now: dict[str, int]) -> str:
    """Counts of every file, before and now, one file a line."""
    names = sorted(before | now)
    width = max(map(len, names), default=0)
    lines = [f"{name:{width}} {before.get(name, 0):7,} {now.get(name, 0):7,}" for name in names]
    return "\n".join(lines)


def summary(package: str, before: dict[str, int], now: dict[str, int]) -> str:
    """Both counts in all, and without the files that hold nothing but features added since."""
    old, new = sum(before.values()), sum(now.values())
    lines = [f"{package} before: {old:,} code tokens in {len(before)} files"]
    lines.append(f"{package} now: {new:,} in {len(now)} files, {_change(old, new)}")
    kept = dict(now)
    for feature, names in ADDED.items():
        counts = [kept.pop(name) for name in names if name in kept]
        if counts:
            lines.append(f"  added since: {sum(counts):6,} in {len(counts)} files: {feature}")
    if len(kept) < len(now):
        rest = sum(kept.values())
        lines.append(f"without these: {rest:,} in {len(kept)} files, {_change(old, rest)}")
    return "\n".join(lines)


def _change(old: int, new: int) -> str:
    return f"ratio {new / old:.3f} ({100 * (new / old - 1):+.1f} %)" if old else "nothing before"


def main(
    package: Annotated[str, typer.Argument(help="A folder of the project.")] = "expunge/unlearning",
    before: Annotated[str, typer.Option(help="The commit to compare with.")] = BEFORE,
    after: Annotated[str | None, typer.Option(help="A later commit; the tree if none.")] = None,
    files: Annotated[bool, typer.Option("--files", help="Show the counts of each file.")] = False,
) -> None:
    """Print the code tokens of a package at a commit, and in the tree or at a later one."""
    try:
        earlier = tokens_at_commit(package, before)
        now = tokens_in_tree(package) if after is None else tokens_at_commit(package, after)
    except LookupError as error:
        sys.exit(f"code_tokens: {error}")
    if not now:
        sys.exit(f"code_tokens: {package}: no Python files in the working tree")
    if files:
        print(table(earlier, now))
    print(summary(package, earlier, now))


if __name__ == "__main__":
    typer.run(main)
