"""Nothing secret leaves: what release and pickle hand out holds no record and no secret."""

import copy
import hashlib
import io
import pickle

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import log_loss
from torch import nn

from expunge.accounting.verification import file_differences
from expunge.losses import Declared
from expunge.unlearning import (
    CertifiedClassifier,
    CertifiedRegressor,
    Langevin,
    NoCertificate,
    TorchUnlearner,
)
from expunge.unlearning.released import PICKLED, Released
from tests.unlearning.records import labelled, measured

COPIED = "state may have been used twice"
STRATEGIES = ["residual", Langevin(learn_steps=20), "retrain"]


def traces(values: np.ndarray) -> list[bytes]:
    """Every value in both precisions, as it would lie in a file."""
    flat = np.asarray(values).ravel()
    return [part.tobytes() for width in (np.float64, np.float32) for part in flat.astype(width)]


def secrets_of(model) -> list[bytes]:
    """Rows, un-noised solutions and whatever else the fitted state holds."""
    fitted = model.fitted_
    rows = fitted.job.features[fitted.job.roster.present].numpy()
    kept = [value.numpy() for value in fitted.outcome.secret.values() if value.is_floating_point()]
    return [trace for values in (rows[:, :-1], *kept) for trace in traces(values[values != 0])]


def written(dump, model) -> bytes:
    buffer = io.BytesIO()
    with pytest.warns(UserWarning, match="pickling writes the released model alone"):
        dump(model, buffer)
    return buffer.getvalue()


def fitted(kind, strategy="residual", forgotten=True):
    X, y = labelled(80) if kind is CertifiedClassifier else measured(80)
    extra = {} if kind is CertifiedClassifier else {"radius": 5.0}
    made = kind(strategy=strategy, l2=0.05, random_state=0, **extra)
    made.fit(X, y, public=(X[:20], y[:20]))
    if forgotten:
        made.forget([3, 5])
    return made, X


EACH = pytest.mark.parametrize("kind", [CertifiedClassifier, CertifiedRegressor])


@EACH
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
@pytest.mark.parametrize("dump", [pickle.dump, joblib.dump])
def test_a_pickle_holds_no_record_and_no_secret(kind, strategy, dump):
    made, _ = fitted(kind, strategy)
    content = written(dump, made)
    released = set(traces(made.release().head.theta.numpy()))
    assert not [trace for trace in secrets_of(made) if trace in content and trace not in released]


def test_the_same_search_finds_what_a_plain_pickle_would_write():
    made, _ = fitted(CertifiedClassifier)
    content = pickle.dumps(made.fitted_.job.features.numpy())
    assert all(trace in content for trace in traces(made.fitted_.job.features[0, :3].numpy())[:3])


@EACH
def test_what_is_loaded_predicts_the_same_and_says_why_it_cannot_forget(kind):
    made, X = fitted(kind)
    again = pickle.loads(written(pickle.dump, made))
    np.testing.assert_array_equal(again.predict(X), made.predict(X))
    np.testing.assert_array_equal(again.coef_, made.coef_)
    assert again.certificate_ == made.certificate_
    assert again.model_bytes() == made.model_bytes()
    for asked in (lambda: again.forget(7), lambda: again.plan(1), lambda: again.history_):
        with pytest.raises(NoCertificate, match="without records and secret state"):
            asked()
    with pytest.raises(NoCertificate, match="cannot forget"):
        again.save("anywhere")


def test_a_second_pickle_is_no_surprise():
    made, X = fitted(CertifiedClassifier)
    again = pickle.loads(written(pickle.dump, made))
    once_more = pickle.loads(pickle.dumps(again))  # no warning: nothing is left out
    np.testing.assert_array_equal(once_more.predict_proba(X), made.predict_proba(X))


def test_an_estimator_that_was_never_fitted_is_pickled_as_it_is():
    again = pickle.loads(pickle.dumps(CertifiedClassifier(l2=0.3)))
    assert again.get_params()["l2"] == 0.3
    assert not hasattr(again, "n_features_in_")


def test_after_a_new_fit_the_earlier_release_is_remembered():
    made, X = fitted(CertifiedClassifier)
    again = pickle.loads(written(pickle.dump, made)).set_params(released=False)
    again.fit(X, labelled(80)[1])
    assert again.forget(1).earlier_releases == "not covered"


@EACH
@pytest.mark.parametrize("forgotten", [False, True])
def test_release_gives_a_plain_predictor_with_its_certificate(kind, forgotten):
    made, X = fitted(kind, forgotten=forgotten)
    released = made.release()
    assert isinstance(released, Released)
    assert set(vars(released)) == {"head", "certificate", "salt", "preprocessing"}
    assert released.preprocessing is None
    np.testing.assert_array_equal(released.predict(X), made.predict(X))
    assert released.certificate == made.certificate_
    if forgotten:
        digest = hashlib.sha256(released.model_bytes).hexdigest()
        assert file_differences(released.certificate, digest) == []
    again = pickle.loads(pickle.dumps(released))
    np.testing.assert_array_equal(again.predict(X), made.predict(X))


def test_a_released_model_does_not_follow_later_requests():
    made, X = fitted(CertifiedClassifier)
    released, before = made.release(), made.predict_proba(X)
    made.forget(range(20, 40))
    np.testing.assert_array_equal(released.predict_proba(X), before)
    assert log_loss(released.predict(X), released.predict_proba(X)) > 0


def test_a_loss_of_the_users_is_not_part_of_what_is_released():
    X, y = measured(60)
    loss = Declared(lambda scores, targets: (scores[:, 0] - targets).square() / 2, 9.0, 1.0)
    made = CertifiedRegressor(loss=loss).fit(X, y)
    np.testing.assert_allclose(
        pickle.loads(pickle.dumps(made.release())).predict(X), made.predict(X)
    )


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_can_forget_and_both_say_that_there_may_be_another(copied):
    made, X = fitted(CertifiedClassifier, forgotten=False)
    other = copied(made)
    np.testing.assert_array_equal(other.predict(X), made.predict(X))
    if copied is copy.deepcopy:
        assert COPIED in made.forget(7).reservations
        assert COPIED in other.forget(8).reservations
        assert other.fitted_.job.roster.present[20 + 7]


def test_a_clone_is_unfitted_and_copies_nothing():
    made, _ = fitted(CertifiedClassifier)
    assert not clone(made).__sklearn_is_fitted__()
    assert COPIED not in made.forget(9).reservations


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, rows):
        return self.fc(torch.tanh(self.body(rows)))


def unlearner():
    torch.manual_seed(0)
    X, y = labelled(80)
    rows, labels = torch.from_numpy(X).float(), torch.from_numpy(y)
    made = TorchUnlearner(Small(), nn.CrossEntropyLoss(), head="fc", random_state=0)
    made.fit((rows, labels), public=(rows[:20] + 1, labels[:20]))
    made.forget([3, 5])
    return made, rows


@pytest.mark.parametrize("dump", [pickle.dump, joblib.dump])
def test_a_pickled_unlearner_holds_no_record_and_no_secret(dump):
    made, rows = unlearner()
    content = written(dump, made)
    state = made.fitted_.outcome
    weights = {
        trace for value in made.model.state_dict().values() for trace in traces(value.numpy())
    }
    secret = [value.numpy() for value in state.secret.values() if value.is_floating_point()]
    hidden = [trace for values in (rows.numpy(), *secret) for trace in traces(values[values != 0])]
    assert not [trace for trace in hidden if trace in content and trace not in weights]


def test_a_pickled_unlearner_predicts_and_says_why_it_cannot_forget():
    made, rows = unlearner()
    again = pickle.loads(written(pickle.dump, made))
    with torch.no_grad():
        torch.testing.assert_close(again.model(rows), made.model(rows), rtol=0, atol=0)
    assert again.certificate == made.certificate
    with pytest.raises(NoCertificate, match="cannot forget"):
        again.forget(7)
    with pytest.raises(ValueError, match="pass a fresh one"):
        again.fit(
            (rows, torch.zeros(80, dtype=torch.int64)), public=(rows[:20], torch.zeros(20).long())
        )
    assert pickle.loads(pickle.dumps(again)).certificate == made.certificate


def test_a_released_network_does_not_follow_later_requests():
    made, _ = unlearner()
    released = made.release()
    before = {name: value.clone() for name, value in released.model.state_dict().items()}
    made.forget([7, 8, 9])
    for name, value in released.model.state_dict().items():
        assert torch.equal(value, before[name])
    assert released.certificate.forgotten == 2


def test_what_is_released_is_the_certified_network_whatever_became_of_the_users():
    made, _ = unlearner()
    certified = made.model.fc.weight.detach().clone()
    with torch.no_grad():
        made.model.fc.weight.zero_()
    assert torch.equal(made.release().model.fc.weight, certified)


def test_an_unlearner_is_not_copied():
    made, _ = unlearner()
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"release\(\)"):
            copied(made)


def test_the_warning_names_the_remedy():
    assert "save() and load()" in PICKLED
