"""Every label of the paper held against the page that answers it.

    python docs/labels.py              rewrites the table of labels in docs/paper_reproduced.md
    python docs/labels.py alu.tex      also holds the list against the paper's source

The list is docs/paper_labels.txt: label, number as printed, what it is, what became of it here. The
source is not part of this repository. Numbers are counted in it as LaTeX counts them (sections,
theorems and their kin by section, figures, tables, algorithms); equations are listed without one.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
from docs.claims import claims

__all__ = [
    "PAGE",
    "Label",
    "compare",
    "labels",
    "labels_table",
    "numbered",
    "page_of",
    "rows_about",
]

DOCS = Path(__file__).parent
PAGE = DOCS / "paper_reproduced.md"
STATEMENTS = ("theorem", "lemma", "proposition", "definition", "corollary")
MADE_UP = ("unlabelled:", "future:")  # names of ours for what the paper gives no label
EVENT = re.compile(
    r"\\(?P<level>section|subsection|subsubsection)(?P<star>\*?)\{"
    r"|\\(?P<appendix>appendix)\b"
    r"|\\begin\{(?P<kind>theorem|lemma|proposition|definition|corollary|figure\*?|subfigure|table"
    r"|algorithm)\}"
    r"|\\begin\{restatable\}\[[^]]*\]\{(?P<again>\w+)\}"
    r"|\\begin\{(?P<equation>equation|align\*?)\}"
    r"|\\end\{(?P<end>subfigure)\}"
    r"|\\label\{(?P<label>[^}]+)\}"
)


class Label(NamedTuple):
    """A label, its number as printed, what it is, and what became of it here."""

    name: str
    printed: str
    what: str
    here: str


def labels() -> list[Label]:
    """The committed list."""
    lines = (DOCS / "paper_labels.txt").read_text().splitlines()
    return [Label(*(field.strip() for field in line.split(" | "))) for line in lines]


def numbered(source: str) -> dict[str, str]:
    """Every label of a LaTeX source with the number that would be printed."""
    source = re.sub(r"(?<!\\)%.*", "", source)
    counter, names = _Counter(), {}
    for event in EVENT.finditer(source):
        if label := event["label"]:
            names[label] = counter.last
        else:
            counter.take(event)
    return names


class _Counter:
    """LaTeX's counters, as far as this paper uses them."""

    def __init__(self):
        self.sections, self.in_appendix = [0, 0, 0], False
        self.statements: dict[str, int] = {}
        self.floats: dict[str, int] = {}
        self.last = ""

    def take(self, event: re.Match[str]) -> None:
        """Count one beginning."""
        if event["appendix"]:
            self.in_appendix, self.sections = True, [0, 0, 0]
        elif level := event["level"]:
            if not event["star"]:
                self._section(("section", "subsection", "subsubsection").index(level))
        elif event["end"]:  # a figure's own label follows its parts
            self.last = f"Figure {self.floats['figure']}"
        elif event["equation"]:
            self.last = "Equation"
        elif event["again"] or event["kind"] in STATEMENTS:
            kind = event["again"] or event["kind"]
            self.statements[kind] = self.statements.get(kind, 0) + 1
            self.last = f"{kind.capitalize()} {self._top()}.{self.statements[kind]}"
        else:
            self._float(event["kind"].rstrip("*"))

    def _section(self, depth: int) -> None:
        self.sections[depth] += 1
        self.sections[depth + 1 :] = [0] * (2 - depth)
        if depth == 0:
            self.statements = {}
        rest = "".join(f".{number}" for number in self.sections[1 : depth + 1])
        self.last = f"{'Appendix' if self.in_appendix else 'Section'} {self._top()}{rest}"

    def _float(self, kind: str) -> None:
        if kind == "subfigure":
            self.floats[kind] = self.floats.get(kind, 0) + 1
            letter = "abcdef"[self.floats[kind] - 1]
            self.last = f"Figure {self.floats['figure']}{letter}"
            return
        self.floats |= {kind: self.floats.get(kind, 0) + 1, "subfigure": 0}
        self.last = f"{kind.capitalize()} {self.floats[kind]}"

    def _top(self) -> str:
        first = self.sections[0]
        return chr(ord("A") + first - 1) if self.in_appendix else str(first)


def compare(source: str) -> list[str]:
    """What the list and the paper's source say differently, in words."""
    there = numbered(source)
    listed = {label.name: label.printed for label in labels()}
    faults = [f"{name}: not in the list" for name in there if name not in listed]
    faults += [
        f"{name}: not in the source"
        for name in listed
        if name not in there and not name.startswith(MADE_UP)
    ]
    faults += [
        f"{name}: {listed[name]} in the list, {there[name]} in the source"
        for name in there
        if name in listed and listed[name] != there[name]
    ]
    return faults


def labels_table() -> str:
    """One line for each label: number, what it is, what became of it, rows above, errata."""
    lines = ["| in the paper | what | here | rows above | errata |", "|---|---|---|---:|---|"]
    errata, rows = _errata(), [claim.where for claim in claims()]
    for label in labels():
        numbers = ", ".join(f"E{number}" for number in errata.get(label.name, []))
        link = f"[{numbers}](errata.md)" if numbers else ""
        name = "" if label.name.startswith(MADE_UP) else f" `{label.name}`"
        count = str(rows_about(label, rows) or "")
        lines.append(f"| {label.printed}{name} | {label.what} | {label.here} | {count} | {link} |")
    return "\n".join(lines)


def rows_about(label: Label, rows: list[str]) -> int:
    """How many rows of the page's first table say that they are about it."""
    if label.printed == "Equation":
        return 0
    about = re.compile(rf"\b{re.escape(label.printed)}(?![\w.]*\w)")
    return sum(bool(about.search(where)) for where in rows)


def _errata() -> dict[str, list[int]]:
    """The errata of each label, from their page."""
    by_label: dict[str, list[int]] = {}
    page = (DOCS / "errata.md").read_text()
    for number, entry in re.findall(
        r"^## E(\d+)\b(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE
    ):
        (where,) = re.findall(r"^Where: (.*)$", entry, re.MULTILINE)
        for name in re.findall(r"\[([\w:-]+)\]", where):
            by_label.setdefault(name, []).append(int(number))
    return by_label


def page_of(text: str) -> str:
    """The page with its table of labels renewed."""
    marked = re.compile("(<!-- labels -->\n).*?(<!-- end -->)", re.DOTALL)
    assert len(marked.findall(text)) == 1, f"{PAGE.name}: no place for the table of labels"
    return marked.sub(lambda place: f"{place[1]}{labels_table()}\n{place[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(page_of(PAGE.read_text()))
    if faults := [fault for path in sys.argv[1:] for fault in compare(Path(path).read_text())]:
        sys.exit("\n".join(faults))
