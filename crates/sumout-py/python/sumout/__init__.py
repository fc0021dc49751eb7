"""Exact answers from Bayesian networks: a question is compiled into a tensor circuit, and the circuit is evaluated.

>>> import sumout
>>> net = sumout.read("asia")
>>> net.query("lung", given={"xray": "yes", "dysp": "no"})
{'yes': 0.252..., 'no': 0.747...}
"""

from ._answers import Answers, Explanation, Explanations, Posterior, Posteriors
from ._circuit import Circuit, load
from ._errors import Error, ImpossibleEvidence, Place
from ._network import Network, read, reads
from ._sumout import version as __version__

__all__ = [
    "Answers",
    "Circuit",
    "Error",
    "Explanation",
    "Explanations",
    "ImpossibleEvidence",
    "Network",
    "Place",
    "Posterior",
    "Posteriors",
    "__version__",
    "load",
    "read",
    "reads",
]
