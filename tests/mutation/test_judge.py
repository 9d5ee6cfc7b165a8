"""A mutant is judged in a copy by tests that pass there without it."""

import textwrap
from pathlib import Path

import pytest

from tests.mutation import reach
from tests.mutation.judge import Baseline, baseline_of, judge, mirror_of, package_of
from tests.mutation.operators import places

SOURCE = "def larger(x):\n    if x > 3:\n        return True\n    return False\n"
LARGER = "expunge/audit/size.py larger"


@pytest.fixture
def tree(tmp_path):
    tests = """
        from expunge.audit.size import larger

        def test_three_is_not_larger():
            assert not larger(3)

        def test_that_fails_on_this_machine():
            import a_package_that_is_missing
        """
    other = """
        from expunge.audit.size import larger

        def test_ten_is():
            assert larger(10)

        def test_nothing_is_run():
            pass
        """
    prepared = """
        import pytest

        from expunge.audit.size import larger

        @pytest.fixture(scope="module")
        def answer():
            return larger(10)

        def test_the_answer(answer):
            assert answer
        """
    files = {
        "expunge/__init__.py": "",
        "expunge/audit/size.py": SOURCE,
        "tests/audit/test_size.py": textwrap.dedent(tests),
        "tests/audit/test_other.py": textwrap.dedent(other),
        "tests/audit/test_prepared.py": textwrap.dedent(prepared),
        "tests/mutation/reach.py": Path(reach.__file__).read_text(),
        "tests/audit/test_absent.py": "import a_package_that_is_missing\n",
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_mirror_and_the_package_of_a_module(tree):
    assert mirror_of("expunge/audit/size.py") == "tests/audit/test_size.py"
    assert package_of("expunge/audit/size.py", tree) == [
        f"tests/audit/test_{name}.py" for name in ("absent", "other", "prepared")
    ]


@pytest.mark.slow
def test_a_mutant_is_killed_by_its_mirror_by_another_file_or_survives(tree):
    names = [*package_of("expunge/audit/size.py", tree), "tests/audit/test_size.py"]
    baselines = {name: baseline_of(tree, name) for name in names}
    whole, broken = baselines["tests/audit/test_size.py"], baselines["tests/audit/test_absent.py"]
    assert whole.counts
    assert whole.left_out == ("tests/audit/test_size.py::test_that_fails_on_this_machine",)
    assert not broken.counts
    assert "a_package_that_is_missing" in broken.why or "test_absent" in broken.why
    other, prepared = (baselines[f"tests/audit/test_{name}.py"] for name in ("other", "prepared"))
    assert other.reached[LARGER] == ["tests/audit/test_other.py::test_ten_is"]
    assert prepared.reached[LARGER] == [reach.EVERY]
    fates = {
        mutant.after: judge(tree, mutant, baselines)["killed_by"]
        for group in places(SOURCE, "expunge/audit/size.py")
        for mutant in group
        if mutant.after in ("if x >= 3:", "if x < 3:", "if x > 4:")
    }
    assert fates["if x >= 3:"] == "tests/audit/test_size.py"
    assert fates["if x < 3:"] in ("tests/audit/test_other.py", "tests/audit/test_prepared.py")
    assert fates["if x > 4:"] is None
    assert (tree / "expunge/audit/size.py").read_text() == SOURCE


def test_a_function_is_run_where_the_one_around_it_is():
    reached = {"a.py outer": ["t"], "a.py Kind.method": ["u"]}
    assert reach.reaching(reached, "a.py", "outer.inner") == ["t"]
    assert reach.reaching(reached, "a.py", "Kind.method") == ["u"]
    assert reach.reaching(reached, "a.py", "Kind") is None
    assert reach.reaching(reached, "b.py", "outer") is None


def test_a_file_that_is_not_there_judges_nothing(tree):
    assert baseline_of(tree, "tests/audit/test_none.py") == Baseline(
        "tests/audit/test_none.py", False, 0.0, why="there is no such file"
    )
