"""The folders are the architecture: imports may only point downwards."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from docs import imports

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "expunge"
BELOW_CLI = {
    "accounting", "audit", "core", "divergence", "features", "ledger", "losses", "report",
    "sampling", "store", "unlearning", "workspace",
}  # fmt: skip
MAY_IMPORT = {
    "accounting": set(),
    "audit": {"accounting", "core", "divergence", "losses", "sampling"},  # and `laws` unlearning
    "cli": BELOW_CLI,
    "core": set(),
    "divergence": {"core"},
    "features": {"accounting", "core"},
    "ledger": {"accounting"},
    "losses": {"accounting", "core"},
    "report": {"accounting"},
    "sampling": {"core", "losses"},
    "service": BELOW_CLI,
    "store": {"accounting", "core"},
    "unlearning": {"accounting", "core", "features", "losses", "sampling", "store"},
    "workspace": {
        "accounting", "audit", "core", "features", "ledger", "report", "store", "unlearning",
    },
}  # fmt: skip
MODULE_MAY_IMPORT = {"laws.py": {"unlearning"}}  # of audits, the one that knows strategies
# What a bare GPU machine does not have; it has torch, numpy, scipy, scikit-learn, matplotlib.
ABSENT = {
    "dp_accounting", "flint", "jinja2", "numba", "pyarrow", "pydantic", "ray", "rich",
    "sqlalchemy", "typer",
}  # fmt: skip
BARE = ("audit", "core", "divergence", "features", "losses", "sampling")  # layers that run there
VERBS = {"cli", "workspace"}  # a verb's parser and the verb itself are an honest pair
PAIRS = {"account": {"accounting", "cli"}}  # the function and its command
# Names that wait for `unlearning` to become one house; empty these when it is.
TWO_KINDS = {"langevin", "retrain"}  # one strategy for linear models and for networks
UNSAFE = {"dill", "joblib", "marshal", "pickle", "shelve"}


def imported(path: Path) -> list[str]:
    """Dotted names a file imports, one for each imported symbol."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def reached(layer: str, names: list[str]) -> set[str]:
    parts = [name.split(".") for name in names]
    return {p[1] for p in parts if p[0] == "expunge" and len(p) > 1} - {layer, "errors"}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=str)
def test_imports_point_downwards(path):
    layer = path.relative_to(PACKAGE).parts[0]
    names = imported(path)
    above = reached(layer, names) - MAY_IMPORT[layer] - MODULE_MAY_IMPORT.get(path.name, set())
    assert not above, f"{layer} may not import {above}"
    assert not {"experiments", "benchmarks", "tests"} & {name.split(".")[0] for name in names}


def test_an_upward_import_would_be_caught():
    assert reached("accounting", ["expunge.sampling.pngd"]) - MAY_IMPORT["accounting"]


def test_no_imports_go_in_circles_not_even_inside_functions():
    """Those for type checkers count too; `python docs/import_graph.py` names them all."""
    assert imports.cycles(imports.module_imports()) == []


def test_layers_do_not_go_in_circles():
    assert imports.cycles(imports.layers(imports.module_imports())) == []


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("**/*.py")), ids=str)
def test_nothing_loads_code_from_data(path):
    names = imported(path)
    assert not UNSAFE & {name.split(".")[0] for name in names}
    assert "torch.load(" not in path.read_text()


def test_every_folder_is_a_known_layer_with_a_module():
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(MAY_IMPORT)
    for folder in folders:
        modules = [p for p in (PACKAGE / folder).glob("**/*.py") if p.name != "__init__.py"]
        assert modules, f"{folder}: an empty folder is a promise"


def test_accounting_ledger_and_store_need_no_torch():
    modules = "expunge.accounting, expunge.ledger, expunge.store"
    code = f"import sys; sys.modules['torch'] = None; import {modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sampling_evidence_records_and_bounds_need_only_what_a_bare_machine_has():
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for layer in BARE
        for path in (PACKAGE / layer).glob("**/*.py")
        if path.stem not in ("__init__", "cpu_loops", "laws")  # numba's loops, imported where it is
    ]
    assert "expunge.sampling.updates.hopper" in modules
    code = f"""
import importlib, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        top = name.split('.')[0]
        if top in {ABSENT!r}:
            raise ImportError(top + ' is not on a bare machine')
sys.meta_path.insert(0, Block())
import expunge.accounting.planning, expunge.accounting.advantage
import expunge.accounting.generalisation, expunge.accounting.trade_offs
for name in {modules!r}:
    importlib.import_module(name)
from expunge.accounting.bounds import BOUNDS
assert len(BOUNDS) == 5
try:
    import expunge.accounting.certificate
except ImportError:
    pass
else:
    raise AssertionError('the block does not block')
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_resolve():
    import importlib

    for path in PACKAGE.glob("**/*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            assert hasattr(module, public), f"{name}.{public}"


def test_every_module_has_a_test_file():
    missing = []
    for path in PACKAGE.glob("*/**/*.py"):
        if path.name == "__init__.py":
            continue
        relative = path.relative_to(PACKAGE)
        mirror = ROOT / "tests" / relative.parent / f"test_{relative.name}"
        if not mirror.exists():
            missing.append(str(mirror.relative_to(ROOT)))
    assert not missing, missing


def shared_basenames(modules: list[Path]) -> dict[str, set[str]]:
    """Basenames that several modules have, with their layers; honest pairs are left out."""
    layers: dict[str, list[str]] = {}
    for path in modules:
        if path.name != "__init__.py":
            layers.setdefault(path.stem, []).append(path.parts[0])
    return {
        stem: set(several)
        for stem, several in layers.items()
        if len(several) > 1
        if len(set(several)) < len(several) or set(several) not in (VERBS, PAIRS.get(stem))
    }


def test_a_module_has_its_basename_to_itself():
    modules = [path.relative_to(PACKAGE) for path in PACKAGE.glob("*/**/*.py")]
    shared = shared_basenames(modules)
    assert not set(shared) - TWO_KINDS, shared


def test_a_basename_that_two_modules_have_would_be_seen():
    def shared(*names: str) -> set[str]:
        return set(shared_basenames([Path(name) for name in names]))

    assert shared("core/checks.py", "accounting/checks.py") == {"checks"}
    assert shared("cli/fit.py", "workspace/fit.py", "cli/__init__.py", "core/__init__.py") == set()
    assert shared("cli/fit.py", "workspace/fit.py", "workspace/x/fit.py") == {"fit"}
    assert shared("cli/account.py", "accounting/account.py") == set()
    assert shared("cli/account.py", "audit/account.py") == {"account"}


def test_a_class_name_has_one_meaning():
    homes: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.glob("**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert not twice, twice
