"""The operators plant what they say, and leave alone what only people read."""

import ast
import textwrap

import pytest

from tests.mutation.operators import draw, places

SOURCE = textwrap.dedent(
    '''
    """A docstring with 1 < 2."""
    import math

    __all__ = ["é", "f"]
    LIMIT: float = 3.0


    @dataclass(frozen=True)
    class Thing:
        size: int | None = None

        def scaled(self, by=2.0):
            if not by > 0:
                raise ValueError(f"by: {by + 1} must be positive")
            log.info(1 + 1)
            self.check(by, least=0)
            return max(self.size, 1) * abs(by) if by and math.ceil(by) else -by


    def f(x: int | float) -> list[int]:
        assert x > 4
        return [y - 1 for y in x if y in é(7)]
    '''
)


def changes(source: str) -> set[tuple[str, str]]:
    return {(m.before, m.after) for group in places(source, "file.py") for m in group}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT: float = 3.0", "LIMIT: float = 4.0"),
        ("if not by > 0:", "if not by >= 0:"),
        ("if not by > 0:", "if (by > 0):"),
        ("if not by > 0:", "if False:"),
        ("if not by > 0:", "if not by > 1:"),
        ("self.check(by, least=0)", "pass"),
        ("self.check(by, least=0)", "self.check(by, )"),
        ("self.check(by, least=0)", "self.check(by, least=None)"),
        ("def scaled(self, by=2.0):", "def scaled(self, by=4.0):"),
        ("return [y - 1 for y in x if y in é(7)]", "return [y + 1 for y in x if y in é(7)]"),
        ("return [y - 1 for y in x if y in é(7)]", "return [(y) for y in x if y in é(7)]"),
        ("return [y - 1 for y in x if y in é(7)]", "return [y - 1 for y in x if y not in é(7)]"),
        ("return [y - 1 for y in x if y in é(7)]", "return [y - 1 for y in x if True]"),
    ],
)  # fmt: skip
def test_a_fault_is_planted(before, after):
    assert (before, after) in changes(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max(", "min("),
        ("* abs", "/ abs"),
        ("abs(by)", "(by)"),
        ("by and math", "by or math"),
        ("ceil", "floor"),
        ("else -by", "else (by)"),
        ("if by and math.ceil(by)", "if not (by and math.ceil(by))"),
    ],
)
def test_an_expression_is_changed_in_place(old, new):
    line = "return max(self.size, 1) * abs(by) if by and math.ceil(by) else -by"
    assert (line, line.replace(old, new)) in changes(SOURCE)


def test_what_only_people_read_is_left_alone():
    lines = {before for before, _ in changes(SOURCE)}
    for word in (
        "docstring",
        "__all__",
        "frozen",
        "int | None",
        "ValueError",
        "log.info",
        "assert",
    ):
        assert not any(word in line for line in lines), word


def test_a_threshold_that_nothing_equals_is_only_reversed():
    assert {after for _, after in changes("x = y < 1e-9\n") if "e-" in after} == {"x = y > 1e-9"}
    assert ("x = y < 1", "x = y <= 1") in changes("x = y < 1\n")


def test_every_mutant_differs_compiles_and_has_a_key_of_its_own():
    mutants = [mutant for group in places(SOURCE, "file.py") for mutant in group]
    assert len(mutants) > 30
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.planted(SOURCE))) != ast.dump(ast.parse(SOURCE))
    assert len({mutant.key for mutant in mutants}) == len(mutants)


def test_a_key_outlives_edits_elsewhere_and_so_does_the_draw():
    edited = SOURCE.replace("import math", "import math\nimport os\n\n\n")
    before, after = (places(source, "file.py") for source in (SOURCE, edited))
    assert {m.key for g in before for m in g} == {m.key for g in after for m in g}
    assert [m.key for m in draw(before, 9, 0)] == [m.key for m in draw(after, 9, 0)]


def test_a_larger_draw_contains_the_smaller_one_and_another_seed_is_another_draw():
    groups = places(SOURCE, "file.py")
    few, more, others = (draw(groups, count, seed) for count, seed in ((5, 0), (9, 0), (9, 1)))
    assert more[:5] == few
    assert more != others


def test_functions_are_named_by_their_class():
    named = {m.function for group in places(SOURCE, "file.py") for m in group}
    assert named == {"(module)", "Thing.scaled", "f"}
