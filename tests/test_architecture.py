"""The folders are the architecture: imports may only point downwards."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "expunge"
BELOW_CLI = {
    "accounting", "audit", "core", "divergence", "ledger", "losses", "report", "sampling",
    "store", "unlearning", "workspace",
}  # fmt: skip
MAY_IMPORT = {
    "accounting": set(),
    "audit": {"accounting", "core", "divergence", "sampling"},
    "cli": BELOW_CLI,
    "core": set(),
    "divergence": {"core"},
    "ledger": {"accounting"},
    "losses": {"accounting", "core"},
    "report": {"accounting"},
    "sampling": {"core", "losses"},
    "service": BELOW_CLI,
    "store": {"accounting", "core"},
    "unlearning": {"accounting", "core", "losses", "sampling", "store"},
    "workspace": {"accounting", "audit", "core", "ledger", "report", "store", "unlearning"},
}
# What a bare GPU machine does not have; it has torch, numpy, scipy, scikit-learn, matplotlib.
ABSENT = {
    "dp_accounting", "jinja2", "numba", "opendp", "pyarrow", "pydantic", "ray", "rich",
    "sqlalchemy", "typer",
}  # fmt: skip
BARE = ("audit", "core", "divergence", "losses", "sampling")  # layers that run there
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
    above = reached(layer, names) - MAY_IMPORT[layer]
    assert not above, f"{layer} may not import {above}"
    assert not {"experiments", "benchmarks", "tests"} & {name.split(".")[0] for name in names}


def test_an_upward_import_would_be_caught():
    assert reached("accounting", ["expunge.sampling.pngd"]) - MAY_IMPORT["accounting"]


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
        for path in (PACKAGE / layer).glob("*.py")
        if path.stem not in ("__init__", "cpu_loops", "kernels", "ray_engine")  # others' own
    ]
    code = f"""
import importlib, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        top = name.split('.')[0]
        if top in {ABSENT!r}:
            raise ImportError(top + ' is not on a bare machine')
sys.meta_path.insert(0, Block())
import expunge.accounting.calibration, expunge.accounting.planning, expunge.accounting.advantage
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
