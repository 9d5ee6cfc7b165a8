"""`expunge demo`: digits, start to finish.

Its noise is seeded (`tests/repeatable.py`); the audit's own chances are computed.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from expunge.audit import laws as auditing
from expunge.audit.sandwich import sandwich
from expunge.cli.demo import AUDITED, PRIVATE, _digits
from expunge.unlearning.linear.estimator import CertifiedClassifier
from tests.audit.chance import false_alarm
from tests.cli.test_main import expunge

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "demo"
    return folder, expunge("demo", "--output", folder, "--json")


def test_the_demo_learns_deletes_certifies_and_compares(demo):
    folder, outcome = demo
    assert outcome.err == ""
    document = outcome.document
    assert document["forgotten"] == 210
    accuracy = document["accuracy"]
    assert accuracy["after"] > 0.9
    assert abs(accuracy["after"] - accuracy["retrained"]) < 0.01
    assert document["claim"]["epsilon"] <= 1.0
    assert {s["name"] for s in document["strategies"]} >= {"residual", "langevin", "retrain"}
    assert sorted(path.name for path in folder.iterdir()) == ["certificate.json", "report.html"]
    assert expunge("verify", folder / "certificate.json").status == 0
    assert json.loads((folder / "certificate.json").read_text())["strategy"] == "residual"


def test_the_demo_leads_with_deletion_beside_retraining(demo):
    beside = demo[1].document["side_by_side"]
    assert beside["records"] == 200_000
    assert beside["epsilon"] <= 1.0
    accuracy = beside["accuracy"]
    assert abs(accuracy["forget"] - accuracy["retrain"]) < 0.001
    page = " ".join((ROOT / "docs/pass_free.md").read_text().split())
    told = {name: f"{value:.0%}".replace("%", " %") for name, value in accuracy.items()}
    assert told["forget"] == told["retrain"]
    assert (
        f"{told['placebo']} of accuracy where the deletion and retraining have {told['retrain']}"
        in page
    )
    assert "What the deletion" in (demo[0] / "report.html").read_text()


def test_the_demo_audits_what_it_certifies(demo):
    audit = demo[1].document["audit"]
    assert demo[1].status == 0
    assert audit["contradicted"] is False
    assert audit["conclusive"] is True
    assert audit["lower_bound"]["value"] <= audit["certified"]["epsilon"]
    assert audit["null_control"]["quiet"]
    assert audit["positive_control"]["caught"]


def test_the_report_is_one_small_file_that_needs_no_network(demo):
    text = (demo[0] / "report.html").read_text()
    assert len(text) < 5_000_000
    assert "http" not in text
    assert "<script" not in text
    start = text.index('<section id="short"')
    first_screen = text[start : text.index("</section>", start)]
    assert "Observer: final" in first_screen
    assert "kept a model from before the deletion" in first_screen
    assert "EARLIER RELEASES NOT COVERED" in first_screen
    assert "from its own history" in first_screen
    assert "What retraining would have cost" in text
    assert text.count("<figure>") == 5
    assert "497 digits that no model was trained on" in text


def test_the_demo_complains_in_one_line_when_its_folder_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in expunge("demo", "--output", tmp_path / "file", "--json").complaint


def test_a_demo_whose_audit_contradicts_it_exits_1(tmp_path, monkeypatch):
    plain = auditing.laws_of
    monkeypatch.setattr(auditing, "laws_of", lambda *a, **k: plain(*a, **k, noise=0.1))
    outcome = expunge("demo", "--output", tmp_path / "demo")
    assert outcome.status == 1
    assert "CONTRADICTED" in outcome.out


# ---- the demo's audit a thousand times, by its scores -------------------------------------------


class Scores:
    """The demo's audit without its models: the plane that holds every score, and its noise.

    The attack and the null control read models along one direction, the positive control along
    another; Gaussian noise of equal std in every coordinate is the same in the plane of the two.
    """

    def __init__(self):
        public, private, _ = _digits()
        model = CertifiedClassifier(l2=1e-3).fit(*private, public=public)
        model.forget([i for first in range(3) for i in range(first, PRIVATE, 10)])
        self.delta = model.fitted_.job.target.delta
        self.centers = auditing.laws_of(
            model.fitted_.job, model.fitted_.strategy, models=1, seed=0, noise=0.0
        )  # no noise: the centers themselves
        direction, other = self.centers.direction, self.centers.control.direction
        self.plane = torch.linalg.qr(torch.stack([direction, other], 1))[0]  # (d, 2)
        self.noise_std = 10 * float(direction.norm()) / self.centers.faulty_mu

    def audit(self, seed, *, noise=1.0):
        """One audit of the demo, judged as the demo judges it."""
        generator = torch.Generator().manual_seed(seed)

        def drawn(center):
            spread = torch.randn(AUDITED, 2, generator=generator, dtype=torch.float64)
            return center @ self.plane + noise * self.noise_std * spread

        laws, control = self.centers, self.centers.control
        retrained = drawn(laws.retrained)
        flat = replace(
            laws,
            unlearned=drawn(laws.unlearned),
            retrained=retrained,
            retrained_again=drawn(laws.retrained),
            direction=laws.direction @ self.plane,
            control=replace(
                control,
                of=drawn(control.of),
                against=retrained,
                direction=control.direction @ self.plane,
            ),
        )
        return sandwich(flat, delta=self.delta)


@pytest.fixture(scope="module")
def scores():
    return Scores()


def test_the_demo_s_audit_cries_wolf_less_than_once_in_a_thousand_million_runs(scores):
    """Half of its models are counted; its claim is all but reached, so the chance is all but exact.

    At 95 % it was 2.0e-3; at the confidence that decides it is 1.1e-12.
    """
    mu = scores.centers.mu
    assert 0.99 < scores.centers.reach < 1
    assert false_alarm(AUDITED // 2, mu, level=0.95) == pytest.approx(2.0e-3, rel=0.1)
    assert false_alarm(AUDITED // 2, mu) == pytest.approx(1.1e-12, rel=0.1)
    assert false_alarm(AUDITED // 2, 0.0) < 1e-9  # of the null control


def test_scores_follow_the_law_of_the_demo_s_models(scores):
    """The distance between centers and the noise, in the plane and in all coordinates."""
    laws = scores.centers
    shift = (laws.unlearned - laws.retrained).norm() / scores.noise_std
    assert float(shift) == pytest.approx(laws.reach * laws.mu, rel=1e-9)
    flat = (laws.unlearned - laws.retrained) @ scores.plane
    assert float(flat.norm()) == pytest.approx(float(shift) * scores.noise_std, rel=1e-9)


@pytest.mark.slow
def test_a_thousand_audits_of_the_demo_contradict_nothing_and_a_tenth_of_the_noise_is_caught(
    scores,
):
    sound = [scores.audit(seed) for seed in range(1000)]
    assert not any(document["contradicted"] for document in sound)
    assert all(document["null_control"]["quiet"] for document in sound)
    assert all(document["positive_control"]["caught"] for document in sound)
    faulty = [scores.audit(seed, noise=0.1) for seed in range(1000)]
    assert sum(document["contradicted"] for document in faulty) >= 990
