"""Exact answers from Bayesian networks: a question is compiled into a tensor circuit, and the circuit is evaluated.

>>> import sumout
>>> net = sumout.read("asia")
>>> net.query("lung", given={"xray": "yes", "dysp": "no"})
{'yes': 0.252..., 'no': 0.747...}
"""

from ._answers import Answers, Explanation, Explanations, Information, JointPosterior, MarginalMap, Parameter, Posterior, Posteriors, Sensitivity
from ._build import Builder
from ._circuit import Circuit, load
from ._convert import from_edges, from_networkx, from_pgmpy, from_pyagrum, to_networkx, to_pgmpy, to_pyagrum
from ._draw import Picture
from ._errors import Error, ImpossibleEvidence, Place
from ._fit import Epoch, Learned
from ._network import Network, convert, read, reads
from ._report import Report
from ._sumout import version as __version__
from ._values import Positions

__all__ = [
    "Answers",
    "Builder",
    "Circuit",
    "Epoch",
    "Error",
    "Explanation",
    "Explanations",
    "MarginalMap",
    "ImpossibleEvidence",
    "Information",
    "JointPosterior",
    "Learned",
    "Network",
    "Parameter",
    "Picture",
    "Place",
    "Positions",
    "Posterior",
    "Posteriors",
    "Report",
    "Sensitivity",
    "__version__",
    "convert",
    "from_edges",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "load",
    "read",
    "reads",
    "to_networkx",
    "to_pgmpy",
    "to_pyagrum",
]
