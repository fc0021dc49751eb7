"""The classifier of scikit-learn passes scikit-learn's own checks, and answers as others do."""

import pickle

import numpy as np
import pytest
import sumout

pytest.importorskip("sklearn")
import pandas as pd  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.naive_bayes import CategoricalNB  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402
from sumout.sklearn import NetworkClassifier, expected_failed_checks  # noqa: E402


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [NetworkClassifier(), NetworkClassifier("asia", target="lung")], ids=["naive", "asia"])
def test_checks_of_scikit_learn(estimator):
    """All of them pass, but for those that are declared, and these do not."""
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed.keys() == expected_failed_checks(estimator).keys(), failed
    skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
    assert skipped in [[], ["check_array_api_input"]]  # needs SCIPY_ARRAY_API=1
    assert sum(result["status"] == "passed" for result in results) >= (50 if estimator.network is None else 20)


def test_naive_bayes_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    model = NetworkClassifier(bins=5).fit(X, y)
    cells = model._positions(model.network_, X)
    assert cells.max() == 4 and (np.bincount(cells[:, 0]) > 15).all()
    other = CategoricalNB(alpha=1.0, fit_prior=True, min_categories=cells.max(axis=0) + 1).fit(cells, y)
    prior = np.log((np.bincount(y) + 1) / (len(y) + 3))
    other.class_log_prior_ = prior  # which scikit-learn does not smooth
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(cells), atol=1e-12)
    assert cross_val_score(NetworkClassifier(), X, y).mean() > 0.9


def test_options_are_searched():
    X, y = load_iris(return_X_y=True, as_frame=True)
    search = GridSearchCV(NetworkClassifier(), {"bins": [2, 6], "smoothing": [0.1, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_["bins"] == 6


def cases(rows=400, seed=5):
    table = pd.DataFrame(sumout.read("asia").sample(rows, seed=seed))
    return table.drop(columns="lung"), table["lung"].to_numpy()


def test_a_network_answers_as_it_is():
    X, y = cases()
    model = NetworkClassifier("asia", target="lung", learn=False).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    circuit = sumout.read("asia").compile("lung", given=X.columns)
    np.testing.assert_allclose(model.predict_proba(X), circuit.posterior(X)[:, ::-1], atol=1e-12)
    assert model.score(X, y) == circuit.accuracy(X, y)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_features_may_be_few_in_any_order_and_missing():
    X, y = cases()
    X.loc[::3, "dysp"] = None
    some = X[["dysp", "xray"]]
    model = NetworkClassifier(sumout.read("asia"), target="lung", learn=False).fit(some, y)
    circuit = sumout.read("asia").compile("lung", given=["xray", "dysp"])
    np.testing.assert_allclose(model.predict_proba(some), circuit.posterior(some)[:, ::-1], atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(some), model.predict_proba(some))
    np.testing.assert_array_equal(clone(model).fit(some, y).predict(some), model.predict(some))


def test_cpts_are_counted_and_functions_stay():
    X, y = cases(20_000)
    X = X.drop(columns=["smoke"])  # so that the families of `lung` and of `bronc` are not seen
    far = sumout.reads(sumout.read("asia").to_string("json").replace("[0.98, 0.02]", "[0.5, 0.5]"), format="json")
    model = NetworkClassifier(far, target="lung").fit(X, y)
    asia = sumout.read("asia")
    for name in ["xray", "dysp", "tub", "asia"]:
        np.testing.assert_allclose(model.network_.cpt(name), asia.cpt(name), atol=0.12, err_msg=name)
    np.testing.assert_array_equal(model.network_.cpt("lung"), asia.cpt("lung"))
    assert model.network_.is_functional("either")
    either = X.either == "yes"
    both = (either & (X.xray == "yes")).sum()
    assert model.network_.cpt("xray")[0, 0] == pytest.approx((both + 2 * 0.5) / (either.sum() + 2))  # a prior of one for each value


@pytest.mark.parametrize("yes, no", [(True, False), ("yes", "no")])
def test_labels_are_called_as_they_come(yes, no):
    X, y = cases()
    called = np.where(y == "yes", yes, no)
    model = NetworkClassifier("asia", target="lung").fit(X, called)
    assert model.classes_.tolist() == sorted(set(called.tolist()))
    assert model.score(X, called) > 0.9 and model.predict(X).dtype.kind == called.dtype.kind


def test_mistakes_are_named():
    X, y = cases()
    with pytest.raises(sumout.Error, match="`[01]` for `lung` is ambiguous"):
        NetworkClassifier("asia", target="lung").fit(X, (y == "yes").astype(int))
    with pytest.raises(sumout.Error, match="`[01]` for `smoke` is ambiguous"):
        NetworkClassifier("asia", target="lung").fit(X.assign(smoke=(X.smoke == "yes").astype(int)), y)
    with pytest.raises(sumout.Error, match="give a `target`"):
        NetworkClassifier("asia").fit(X, y)
    with pytest.raises(sumout.Error, match="`smok`"):
        NetworkClassifier("asia", target="lung").fit(X.rename(columns={"smoke": "smok"}), y)
    with pytest.raises(sumout.Error, match="X has 2 features, and the network 7"):
        NetworkClassifier("asia", target="lung").fit(X.to_numpy()[:, :2], y)
    model = NetworkClassifier("asia", target="lung").fit(X, y)
    impossible = X.assign(either="no", tub="yes")
    with pytest.raises(sumout.ImpossibleEvidence, match="400 of 400 examples have probability zero"):
        model.predict(impossible)
