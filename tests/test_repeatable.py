"""No test fails on correct code: what draws from the operating system is listed here, with why.

Everything else draws from seeds (`tests/repeatable.py`). The lists are held against the source, so
that a new use has to be dealt with before it can be added.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
import torch

from expunge.core import release
from expunge.core.exact_normal import rounded_normals
from expunge.core.randomness import normal_source
from expunge.unlearning.linear.estimator import CertifiedClassifier
from tests import repeatable
from tests.unlearning.records import labelled

ROOT = Path(__file__).parents[1]

SYSTEM = {  # tests marked `system_randomness`: each computes its chance of failing, at most 1e-9
    "core/test_randomness.py": "the system's own normals against the normal law, by exact limits",
    "core/test_release.py": "the release sampler against the law it is charged for, likewise",
    "test_repeatable.py": "that the mark works: 64 draws of std 2^20 do not agree by chance",
}
NAMED = {  # sources of the system that a test names
    "core/test_exact_normal.py": "names os.urandom, which is replaced by seeds",
    "core/test_randomness.py": "replaces os.urandom by words of its own",
    "repeatable.py": "replaces them by seeds",
    "test_repeatable.py": "this list",
}
CHILDREN = {  # other processes, which draw from the system: nothing they draw is compared
    "accounting/prove_histories.py": "histories are drawn from seeds that are named",
    "unlearning/linear/compare_distances.py": "problems are drawn from seeds that are named",
    "core/test_whole_file.py": "a writer that is killed before its rename",
    "cli/test_fit.py": "the installed command prints counts of records",
    "cli/test_main.py": "imports, help and refusals; bounds, which draw nothing",
    "experiments/test_main.py": "seeded experiments",
    "features/test_saved_steps.py": "imports",
    "mutation/judge.py": "runs tests, whose seeds are their names",
    "ledger/test_sqlite_file.py": "draws nothing",
    "sampling/test_engines.py": "workers of seeded ensembles",
    "core/test_part_engine.py": "only names Ray",
    "core/test_ray_cluster.py": "workers that add numbers",
    "sampling/test_ray_engine.py": "workers of seeded ensembles",
    "workspace/test_predict.py": "workers that score rows",
    "workspace/test_refresh.py": "workers that add up rows",
    "sampling/updates/test_cpu_kernels.py": "imports",
    "sampling/updates/test_kernels.py": "seeded, by Triton's interpreter",
    "sampling/updates/test_lstm_kernels.py": "seeded, by Triton's interpreter",
    "test_architecture.py": "imports",
    "unlearning/networks/test_saved_unlearner.py": "random_state is set; salts are not compared",
    "unlearning/test_strategy.py": "imports",
    "foreign/example.py": "certificates whose noise, if any, is not compared",
    "torture/dying.py": "forks, seeded by what they run; else names of files, not compared",
    "workspace/test_readers.py": "models are compared with nothing",
    "workspace/test_regressions.py": "a refusal before anything is drawn",
    "test_printed_lines.py": "command lines as printed: exit status and what they name",
    "test_container.py": "the container's steps: exit status, and that there is a report",
    "wheel.py": "command lines as printed, by the wheel: exit status",
}
COVERED = {  # what `expunge` asks of the system, and `tests/repeatable.py` replaces
    "secrets.randbits",
    "secrets.token_bytes",
    "secrets.token_hex",
    "os.urandom",
}
UNSEEDED = {"default_rng", "RandomState", "Random", "SeedSequence", "seed"}
SOURCES = {"SystemRandom", "urandom", "getrandom", "uuid1", "uuid4", "uuid"}
PROCESSES = {"subprocess", "multiprocessing", "fork", "ProcessPoolExecutor", "ray", "spawn"}


def names_in(tree):
    """Every dotted name that is used, every module that is imported, every source in quotes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and node.value in SOURCES | PROCESSES:
            yield node.value  # monkeypatch.setattr(os, "urandom", ...), importorskip("ray")


def unseeded_calls(tree):
    """Generators that are made without a seed, and estimators that are told to take none."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name in UNSEEDED and all(_is_none(value) for value in given):
            yield f"{name}()"
        if any(k.arg == "random_state" and _is_none(k.value) for k in node.keywords):
            yield "random_state=None"


def _is_none(value):
    return isinstance(value, ast.Constant) and value.value is None


def system_uses(text):
    tree = ast.parse(text)
    named = {
        name
        for name in names_in(tree)
        if name.split(".")[0] in ("secrets", "uuid") or name.rpartition(".")[2] in SOURCES
    }
    return named | set(unseeded_calls(tree))


def starts_processes(text):
    parts = {part for name in names_in(ast.parse(text)) for part in name.split(".")}
    return bool(parts & PROCESSES)


def files_where(uses):
    """Of tests/, those whose text answers to it."""
    return {
        str(path.relative_to(ROOT / "tests"))
        for path in sorted((ROOT / "tests").glob("**/*.py"))
        if uses(path.read_text())
    }


def test_every_test_that_draws_from_the_system_is_listed():
    assert files_where(lambda text: "mark.system_randomness" in text) - {"repeatable.py"} == set(
        SYSTEM
    )


def test_every_other_use_of_the_system_s_randomness_is_listed():
    assert files_where(system_uses) == set(NAMED)


def test_every_test_that_starts_a_process_is_listed():
    assert files_where(starts_processes) - {"test_repeatable.py"} == set(CHILDREN)


def test_whatever_the_package_asks_of_the_system_is_replaced():
    used = set()
    for path in (ROOT / "expunge").glob("**/*.py"):
        tree = ast.parse(path.read_text())
        named = set(names_in(tree)) | set(unseeded_calls(tree))
        used |= {n for n in named if n.startswith("secrets.") or n.rpartition(".")[2] in SOURCES}
        used |= {n for n in named if n.endswith("()")}
    assert used == COVERED


@pytest.mark.parametrize(
    "planted",
    [
        "rng = np.random.default_rng()",
        "rng = np.random.default_rng(None)",
        "salt = secrets.token_hex(4)",
        "from os import urandom",
        "name = uuid.uuid4()",
        "rng = random.Random()",
        "model = CertifiedClassifier(random_state=None)",
        "torch.Generator().seed()",
    ],
)
def test_a_new_use_would_be_noticed(planted):
    assert system_uses(planted)


@pytest.mark.parametrize(
    "planted", ["subprocess.run([])", "from multiprocessing import Pool", "os.fork()"]
)
def test_a_new_process_would_be_noticed(planted):
    assert starts_processes(planted)


# ---- what the plugin does -----------------------------------------------------------------------


def drawn():
    rows, labels = labelled(60, classes=2)
    model = CertifiedClassifier(l2=0.1).fit(rows, labels, public=labelled(30, classes=2, seed=1))
    model.forget([0])
    noise = release.draw(np.zeros(64), 1.0, 2.0**-20)
    normal = normal_source(None)(torch.zeros(3)).numpy()
    return np.concatenate([noise, normal, torch.rand(2).numpy(), np.ravel(model.coef_)])


def test_what_is_drawn_follows_from_the_name_alone():
    repeatable.start_from("one")
    first = drawn()
    repeatable.start_from("another")
    assert (drawn() != first).all()
    repeatable.start_from("one")
    assert np.array_equal(drawn(), first)


@pytest.fixture(scope="module")
def shared():
    return release.draw(np.zeros(8), 1.0, 2.0**-20)


def test_what_a_fixture_draws_does_not_depend_on_the_test_that_comes_first(shared):
    with_name = repeatable.seeded("tests/test_repeatable.py::shared[0]")
    expected = rounded_normals(8, 2.0**20, source=with_name.bytes) * 2.0**-20
    assert np.array_equal(shared, expected)


def test_seeds_stand_in_for_the_system():
    assert repeatable.drawn_here()


@pytest.mark.system_randomness
def test_a_marked_test_sees_the_system():
    assert not repeatable.drawn_here()
    first, second = (release.draw(np.zeros(64), 1.0, 2.0**-20) for _ in range(2))
    assert (first != second).any()


def test_hypothesis_tries_the_same_examples_in_every_run():
    hypothesis = pytest.importorskip("hypothesis")
    assert hypothesis.settings().derandomize
    assert hypothesis.settings().database is None
