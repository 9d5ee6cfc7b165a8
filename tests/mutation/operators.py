"""Every small fault that can be planted in a source file: one place, one change of its text.

A place is a node of the syntax tree; a mutant replaces the bytes of that node, or of the operator
between its parts, and leaves the rest of the file as it was. Nothing that only people read is
touched: docstrings, annotations, decorators, `__all__`, assertions, messages of errors, logging.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["Mutant", "draw", "places"]

SWAPPED: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
    ast.Add: (r"\+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: (r"\*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("/",)),
    ast.Mod: ("%", ("//",)),
    ast.Pow: (r"\*\*", ("*",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: (r"\|", ("&",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
}
RENAMED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil",
    "log1p": "log", "expm1": "exp", "argmin": "argmax", "argmax": "argmin", "amax": "amin",
    "minimum": "maximum", "maximum": "minimum", "zeros": "ones", "zeros_like": "ones_like",
}  # fmt: skip
DROPPED = {"abs", "sqrt", "float", "exp", "log"}  # a function of one argument becomes the argument
SKIPPED = (ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Raise)
QUIET = {"cast", "TypeVar", "print", "debug", "info", "warning"}  # calls with nothing to test
UNREAD = {"description", "title", "strict"}  # keywords for people, or that zip checks for them
TINY = 1e-6  # numbers up to here are allowances: twice as much is no fault that a test could see
LARGE = 16  # from here on one more or less is the same number to a test


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of a file become `text`."""

    file: str
    function: str
    line: int
    operator: str
    before: str
    after: str
    start: int
    end: int
    text: str
    occurrence: int = 1

    @property
    def key(self) -> str:
        """What outlives edits elsewhere: file, function, operator, the line before and after."""
        parts = (self.file, self.function, self.operator, self.before, self.after)
        return hashlib.sha256("\0".join((*parts, str(self.occurrence))).encode()).hexdigest()[:12]

    def planted(self, source: str) -> str:
        """The file with the fault in it."""
        raw = source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.end :]).decode()


def places(source: str, file: str) -> list[list[Mutant]]:
    """The mutants of a file, grouped by the place that they change; each of them compiles."""
    finder = _Finder(source, file)
    finder.visit(ast.parse(source))
    seen: Counter[tuple[str, ...]] = Counter()
    numbered = []
    for group in finder.groups:
        mutants = []
        for mutant in group:
            same = (mutant.function, mutant.operator, mutant.before, mutant.after)
            seen[same] += 1
            mutants.append(replace(mutant, occurrence=seen[same]))
        numbered.append(mutants)
    return numbered


def draw(groups: list[list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """So many places by the seed, and one mutant of each.

    Places and mutants are ranked by a hash of the seed and their own key: an edit elsewhere does
    not change the draw, and a larger draw contains the smaller one.
    """

    def rank(mutant: Mutant, purpose: str) -> bytes:
        return hashlib.sha256(f"{seed} {purpose} {mutant.key}".encode()).digest()

    chosen = sorted(groups, key=lambda group: rank(group[0], "place"))[:count]
    return [min(group, key=lambda mutant: rank(mutant, "mutant")) for group in chosen]


class _Finder(ast.NodeVisitor):
    """Walks a file, collecting the changes at every node."""

    def __init__(self, source: str, file: str) -> None:
        self.source, self.raw, self.file = source, source.encode(), file
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.names: list[str] = []
        self.groups: list[list[Mutant]] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, SKIPPED) or _is_all(node) or _is_quiet(node):
            return
        changes = (self._mutant(*change) for change in self._changes(node))
        group = [mutant for mutant in changes if _compiles(mutant.planted(self.source))]
        if group:
            self.groups.append(group)
        named = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        self.names += [node.name] if named else []
        for child in _children(node):
            self.visit(child)
        if named:
            self.names.pop()

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = self.starts[node.lineno - 1] + node.col_offset
        return first, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return f"({self.raw[start:end].decode()})"

    def _mutant(self, operator: str, start: int, end: int, text: str) -> Mutant:
        line = self.raw[:start].count(b"\n") + 1
        first = self.starts[line - 1]
        last = self.starts[self.raw[:end].count(b"\n") + 1]
        before = self.raw[first:last].decode()
        after = (self.raw[first:start] + text.encode() + self.raw[end:last]).decode()
        shown = (" ".join(lines.split()) for lines in (before, after))
        function = ".".join(self.names) or "(module)"
        return Mutant(self.file, function, line, operator, *shown, start, end, text)

    def _changes(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
        """(operator, start, end, new text) of every change at this node."""
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
                    yield from self._between(op, left, right)
            case ast.BinOp():
                yield from self._between(node.op, node.left, node.right)
                if isinstance(node.op, ast.Mult | ast.Div | ast.Add | ast.Sub):
                    yield "drop a term", *self._span(node), self._text(node.left)
            case ast.AugAssign():
                yield from self._between(node.op, node.target, node.value)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between(node.op, left, right)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield "drop a sign or not", *self._span(node), self._text(node.operand)
            case ast.IfExp():
                yield "other branch", *self._span(node.test), f"not {self._text(node.test)}"
            case ast.Constant(value=bool() | int() | float()):
                for text in _numbers(node.value):
                    yield "constant", *self._span(node), text
            case ast.Call():
                yield from self._call(node)
            case ast.comprehension(ifs=[condition, *_]):
                yield "drop a filter", *self._span(condition), "True"
            case ast.If(body=[*_, ast.Raise()]):
                yield "drop a guard", *self._span(node.test), "False"
            case ast.Expr(value=ast.Call()):
                yield "drop a statement", *self._span(node), "pass"

    def _between(
        self, op: ast.AST, left: ast.expr, right: ast.expr
    ) -> Iterator[tuple[str, int, int, str]]:
        start, end = self._span(left)[1], self._span(right)[0]
        pattern, others = SWAPPED.get(type(op), ("", ()))
        token = re.search(pattern, self.raw[start:end].decode())
        if token is None:
            return
        if len(others) > 1 and (_is_measured(left) or _is_measured(right)):
            others = others[1:]
        for other in others:
            yield "swap an operator", start + token.start(), start + token.end(), other

    def _call(self, node: ast.Call) -> Iterator[tuple[str, int, int, str]]:
        name = _called(node)
        if name in RENAMED:
            start, end = self._span(node.func)
            yield "swap a function", end - len(name), end, RENAMED[name]
        if name in DROPPED and len(node.args) == 1 and not node.keywords:
            yield "drop a function", *self._span(node), self._text(node.args[0])
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in UNREAD:
                continue
            start, end = self._span(keyword)
            comma = re.match(rb"\s*,", self.raw[end:])
            yield "drop a keyword", start, end + (comma.end() if comma else 0), ""
            if ast.unparse(keyword.value) not in ("None", "False"):
                yield "keyword to None", *self._span(keyword.value), "None"


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What may be changed inside a node: no annotations, no decorators."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _numbers(value: float) -> Iterator[str]:
    if isinstance(value, bool):
        yield repr(not value)
    elif 0 < abs(value) <= TINY:
        yield repr(value * 1e6)
    elif abs(value) >= LARGE:
        yield repr(value * 2)
    else:
        others = {value + 1, value * 2} | ({value - 1} if isinstance(value, int) else set())
        yield from (repr(other) for other in sorted(others - {value}))


def _is_measured(node: ast.expr) -> bool:
    """A threshold like 1e-6, which no number ever equals: < and <= are the same there."""
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value % 1 > 0


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_quiet(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return _is_quiet(node.value)
    unread = isinstance(node, ast.keyword) and node.arg in UNREAD
    return unread or (isinstance(node, ast.Call) and _called(node) in QUIET)


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
    )


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True
