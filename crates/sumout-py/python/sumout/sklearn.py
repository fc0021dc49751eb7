"""A classifier of scikit-learn that answers from a Bayesian network.

>>> import sumout
>>> from sumout.sklearn import NetworkClassifier
>>> cases = sumout.read("asia").sample(500)
>>> labels = cases.pop("lung")
>>> import pandas
>>> model = NetworkClassifier("asia", target="lung").fit(pandas.DataFrame(cases), labels)
>>> model.predict_proba(pandas.DataFrame({name: column[:3] for name, column in cases.items()})).shape
(3, 2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ._build import Builder
from ._circuit import Circuit
from ._errors import Error, ImpossibleEvidence
from ._learned import with_cpts
from ._network import Network, read

_CLASS = "class"


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """Predicts a variable of a Bayesian network from others.

    Parameters
    ----------
    network : Network or path, optional
        The network. Without one it is naive Bayes: features are numbers, and each is cut into bins of about equally many examples.
    target : str, optional
        The variable to predict; needed with a network, where labels are names of its values (or numbers, or booleans, if the values
        are called so).
    learn : bool
        Whether ``fit`` learns CPTs from the examples: of each variable whose family is the target and features only, by counting,
        with the network's CPT as prior. Functions and zeros stay what they are. Otherwise the network answers as it is.
    smoothing : float
        The weight of the prior, in examples for each value of a variable, in each row of its CPT.
    bins : int
        How many bins a feature is cut into at most, without a network.
    effort : float
        How long to search for a good circuit, 1 being about a second on a hard network.

    With a network, the features of a table are variables by their names, and those of an array are all variables but the target, in
    the network's order: names of values, or positions. Cells may be missing. Examples that are impossible in the network raise
    :class:`sumout.ImpossibleEvidence`.

    After ``fit``, ``classes_`` are the labels, ``network_`` is the network as it was learned, and ``circuit_`` answers.
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    classes_: NDArray[Any]
    network_: Network
    circuit_: Circuit

    def __init__(
        self,
        network: Network | str | None = None,
        target: str | None = None,
        *,
        learn: bool = True,
        smoothing: float = 1.0,
        bins: int = 10,
        effort: float = 0.1,
    ):
        self.network = network
        self.target = target
        self.learn = learn
        self.smoothing = smoothing
        self.bins = bins
        self.effort = effort

    def fit(self, X: Any, y: ArrayLike) -> NetworkClassifier:
        """Learns from examples and their labels."""
        self._check_parameters()
        X = self._validated(X, reset=True)
        given: NDArray[Any] = np.asarray(column_or_1d(y, warn=True))
        check_consistent_length(X, given)
        check_classification_targets(given)
        known, labels = self._prepare(X, given)
        cells = self._positions(known, X)
        positions = {**dict(zip(self._features(known), cells.T)), self._target(): labels}
        self.network_ = _counted(known, positions, self.smoothing) if self.learn or self.network is None else known
        self.circuit_ = self.network_.compile(self._target(), given=self._features(known), effort=self.effort)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        cells = self._positions(self.network_, self._validated(X, reset=False))
        # The circuit has its inputs in the network's order, and the features may be in another.
        order = [self._features(self.network_).index(name) for name in self.circuit_.inputs]
        answers = self.circuit_.evaluate(cells[:, order])
        if answers.impossible.any():
            rows = np.flatnonzero(answers.impossible)
            shown = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
            raise ImpossibleEvidence(f"{len(rows)} of {len(cells)} examples have probability zero in the network: {shown}")
        return np.asarray(answers.posterior)[:, self._order]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of the probabilities; negative infinity of zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _check_parameters(self) -> None:
        if self.network is not None and self.target is None:
            raise Error("options", "which variable is to be predicted?", hint="give a `target`")
        if not self.smoothing >= 0:
            raise Error("options", f"the smoothing is {self.smoothing}", hint="it counts examples, and is not negative")
        if self.bins < 2:
            raise Error("options", f"features cannot be cut into {self.bins} bins", hint="2 is the least")

    def _validated(self, X: Any, reset: bool) -> NDArray[Any]:
        kind = "numeric" if self.network is None else None
        return np.asarray(validate_data(self, X, reset=reset, dtype=kind, ensure_all_finite="allow-nan"))

    def _prepare(self, X: NDArray[Any], y: Any) -> tuple[Network, NDArray[Any]]:
        """The network before it is learned, and the positions of the labels among the target's values."""
        if self.network is None:
            self.classes_, labels = np.unique(y, return_inverse=True)
            self._order = np.arange(len(self.classes_))
            self._edges = [_edges(column, self.bins) for column in X.T.astype(np.float64)]
            return _naive([len(edges) + 1 for edges in self._edges], len(self.classes_)), labels
        network = read(self.network) if isinstance(self.network, str) else self.network
        at = network._raw.find(self._target())
        positions, names = network._variables.column(at, y), _labels(network._variables, at, y)
        self._order = np.argsort(names)
        self.classes_ = names[self._order]
        return network, positions

    def _target(self) -> str:
        return _CLASS if self.network is None else str(self.target)

    def _features(self, network: Network) -> list[str]:
        """The variables that the columns are."""
        if self.network is not None and hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        names = [name for name in network.variables if name != self._target()]
        if len(names) != self.n_features_in_:
            hint = "an array has a column for each variable but the target; a table needs only some, by name"
            raise Error("evidence", f"X has {self.n_features_in_} features, and the network {len(names)}", hint=hint)
        return names

    def _positions(self, network: Network, X: NDArray[Any]) -> NDArray[np.int32]:
        """The positions of values, -1 where a cell is missing."""
        if self.network is None:
            numbers = X.astype(np.float64)
            cells = [np.where(np.isnan(column), -1, np.searchsorted(e, column, "right")) for column, e in zip(numbers.T, self._edges)]
        else:
            variables, names = network._variables, self._features(network)
            if not hasattr(self, "feature_names_in_"):  # in a plain array, numbers are positions
                variables = variables.by_position()
            cells = [variables.column(network._raw.find(name), X[:, at]) for at, name in enumerate(names)]
        return np.stack(cells, axis=1).astype(np.int32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = self.network is not None
        return tags


_OF_OTHER_DATA = """
check_fit_score_takes_y check_estimators_overwrite_params check_dont_overwrite_parameters check_estimators_fit_returns_self
check_readonly_memmap_input check_n_features_in_after_fitting check_positive_only_tag_during_fit check_estimators_dtypes
check_dtype_object check_pipeline_consistency check_estimators_pickle check_f_contiguous_array_estimator
check_classifier_data_not_an_array check_classifiers_one_label check_classifiers_classes check_classifiers_train check_supervised_y_2d
check_methods_sample_order_invariance check_methods_subset_invariance check_fit2d_1sample check_fit2d_1feature check_dict_unchanged
check_fit_idempotent check_fit_check_is_fitted check_n_features_in check_fit2d_predict1d
""".split()


def expected_failed_checks(estimator: NetworkClassifier) -> dict[str, str]:
    """The checks of scikit-learn that cannot pass with a given network, for ``parametrize_with_checks``.

    They fit examples of their own, whose features and labels are not values of the network's variables. Without a network all pass.
    """
    why = "its examples are no values of the network's variables"
    return {} if estimator.network is None else dict.fromkeys(_OF_OTHER_DATA, why)


def _edges(column: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Where to cut, so that about equally many examples are in each part."""
    seen = column[~np.isnan(column)]
    if not seen.size:
        return np.zeros(0)
    edges = np.unique(np.quantile(seen, np.arange(1, bins) / bins, method="midpoint"))
    return edges[(edges > seen.min()) & (edges <= seen.max())]


def _naive(cards: Sequence[int], classes: int) -> Network:
    """Naive Bayes: every feature depends on the class alone. All values are equally probable."""
    builder = Builder("naive-bayes")
    builder.add(_CLASS, range(classes))
    for place, card in enumerate(cards):
        builder.add(f"x{place}", range(card), [_CLASS])
    return builder.build()


def _counted(network: Network, positions: dict[str, NDArray[Any]], smoothing: float) -> Network:
    """The network with CPTs counted from examples, where a whole family was seen; the CPT that it has is the prior."""
    cpts = {}
    for name in [] if network.is_markov else network.variables:
        family = [*network.parents(name), name]
        prior = network.cpt(name)
        if network.is_functional(name) or not all(member in positions for member in family):
            continue
        rows = np.stack([positions[member] for member in family])
        counts = np.zeros(prior.shape)
        np.add.at(counts, tuple(rows[:, (rows >= 0).all(axis=0)]), 1)
        counts = np.where(prior > 0, counts, 0) + smoothing * prior.shape[-1] * prior
        total = counts.sum(axis=-1, keepdims=True)
        cpts[name] = np.where(total > 0, counts / np.where(total > 0, total, 1), prior)
    return with_cpts(network, cpts)


def _labels(variables: Any, target: int, y: NDArray[Any]) -> NDArray[Any]:
    """The target's values, called as the labels call them."""
    names = variables.texts[target]
    if y.dtype.kind == "b":
        false, _ = variables.truth(target)
        return np.arange(2) != false
    if y.dtype.kind in "iuf":
        is_number = all(value.lstrip("-").isdecimal() for value in names)
        return np.array([int(value) for value in names] if is_number else range(len(names)), dtype=y.dtype)
    return np.array(names)
