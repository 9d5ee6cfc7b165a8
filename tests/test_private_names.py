"""A name with an underscore belongs to its file: nobody else reads, replaces or imports it."""

import pytest

from tests.private_names import offenders, private_reads

# Both lists may only shrink. A file that stops reaching for a name takes it off here; nothing is
# added. `python -m tests.private_names` prints them as they are.
STILL_READ = {
    "benchmarks/recurrent.py": ["_advance"],
    "expunge/sampling/updates/lstm_kernels.py": ["_jit"],
}
# Tests of their own file's inner workings, and faults planted there: they go where the same can be
# shown from outside.
STILL_READ_BY_TESTS = {
    "accounting/bounds/test_contraction.py": ["_diameter"],
    "accounting/bounds/test_pieces.py": ["_group_runs"],
    "accounting/test_nonconvex_quadrature.py": ["_diameter"],
    "audit/test_heads.py": ["_location_information", "_mirror"],
    "audit/test_lower_bound.py": ["_limits"],
    "audit/test_verdict.py": ["_bound_of"],
    "cli/test_demo.py": ["_digits"],
    "core/test_counters.py": ["_root_"],
    "divergence/test_critics.py": ["_singular"],
    "divergence/test_lower_estimates.py": ["_shrunk_direction"],
    "divergence/test_model_check.py": ["_along", "_heavy"],
    "experiments/datasets/test_digits.py": ["_smaller"],
    "experiments/datasets/test_embedders.py": ["_model"],
    "experiments/test_frontier.py": ["_gradient", "_weights"],
    "experiments/test_main.py": ["_write"],
    "ledger/test_ledger.py": ["_connection"],
    "losses/test_solver.py": ["_descend", "_lbfgs", "_newton", "_newton_direction"],
    "losses/test_tolerances.py": ["_lbfgs", "_newton_direction"],
    "report/test_sandwich_figure.py": ["_epsilon"],
    "sampling/test_clipped_gradients.py": ["_summed"],
    "sampling/test_recurrent.py": ["_pieces"],
    "sampling/updates/test_cpu_kernels.py": ["_loops"],
    "sampling/updates/test_cpu_loops.py": ["_box_muller", "_compiled", "_moved", "_polynomial"],
    "sampling/updates/test_hopper.py": ["_part"],
    "sampling/updates/test_kernels.py": [
        "_autotune",
        "_reciprocal",
        "_residuals",
        "_set_blocks",
        "_update",
    ],
    "sampling/updates/test_lstm_kernels.py": ["_autotune"],
    "sampling/updates/test_plain.py": ["_each_in_a_thread", "_loops", "_shares"],
    "store/test_erasing.py": ["_erase"],
    "store/test_reading.py": ["_content"],
    "unlearning/linear/test_ensemble.py": ["_Run"],
    "unlearning/linear/test_estimator.py": ["_outcome"],
    "unlearning/networks/test_finetune.py": ["_finetuned"],
    "unlearning/networks/test_head.py": ["_convex", "_unfilled"],
    "workspace/test_fit.py": ["_encoding"],
    "workspace/test_verify.py": ["_file_difference"],
}


def test_no_module_reaches_for_the_private_names_of_another():
    reached = {path: names for path, names in offenders().items() if not path.startswith("tests/")}
    assert reached == STILL_READ


def test_no_further_test_reaches_for_private_names():
    listed = {f"tests/{path}": names for path, names in STILL_READ_BY_TESTS.items()}
    reached = {path: names for path, names in offenders().items() if path.startswith("tests/")}
    assert reached == listed


@pytest.mark.parametrize(
    "line",
    [
        "model._head",
        "model._head = 3",
        "model.fitted._head()",
        "make()._head",
        "models[0]._head",
        "from expunge.cli import _head",
        "getattr(model, '_head')",
        "setattr(model, '_head', 3)",
        "monkeypatch.setattr(module, '_head', 3)",
        "object.__setattr__(model, '_head', 3)",
    ],
)
def test_every_way_to_reach_for_a_private_name_is_seen(line):
    assert private_reads(f"x = 1\n{line}\n") == [(2, "_head")]


@pytest.mark.parametrize(
    "line",
    [
        "model.head",
        "model.__class__",
        "model.head_",
        "_",
        "record._replace(a=1)",
        "getattr(model, name)",
        "getattr(model, 'head')",
        "class A:\n    def f(self, other):\n        self._head = other._head",
        "class A:\n    def f(self):\n        return self._of_the_base, super()._of_the_base",
        "class A:\n    _head: int\n\ndef f(a):\n    return a._head",
        "def _head(): ...\n\nmodule._head",
    ],
)
def test_public_names_and_a_file_s_own_are_no_offence(line):
    assert private_reads(line) == []
