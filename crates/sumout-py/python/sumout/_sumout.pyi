from _typeshed import Incomplete
from collections.abc import Sequence
from os import PathLike
from typing import Any, Final, final

__all__ = ["version", "Batch", "Circuit", "EvalOptions", "FitOptions", "Learned", "Network", "Options", "Plan", "Query", "Task", "arrow_columns", "fit"]

version: Final[str]

@final
class Batch:
    """
    Columns of evidence, by the positions of variables. They are checked when a circuit reads them.
    """
    def __len__(self, /) -> int: ...
    def __new__(cls, /, rows: int) -> Batch: ...
    def likelihoods(self, /, variable: int, likelihoods: Incomplete) -> None:
        """
        Adds the likelihoods of the values of a variable, a row for each example.
        """
    def table(self, /, variables: Sequence[int], values: Incomplete) -> None:
        """
        Adds the positions of the values of several variables, a column for each of them.
        """
    def values(self, /, variable: int, values: Incomplete) -> None:
        """
        Adds the positions of the values of a variable, negative where nothing is known.
        """

@final
class Circuit:
    """
    A compiled query.
    """
    def backward(self, /, likelihoods: Incomplete, cpts: Sequence[tuple[int, Incomplete]], posterior: Incomplete | None, log_evidence: Incomplete | None, running: EvalOptions) -> tuple[Incomplete, list[tuple[int, Incomplete]]]:
        """
        The derivatives of a number with respect to the likelihoods and the CPTs, from those with
        respect to the posteriors and to ln P(e).
        """
    def cpts(self, /) -> list[tuple[int, Incomplete]]:
        """
        The CPTs that it can be trained in, by variable, as dense tables; zero where nothing depends
        on a number.
        """
    def evaluate(self, /, batch: Batch, running: EvalOptions, of_inputs: bool, progress: Any | None = None) -> tuple[Incomplete, Incomplete]:
        """
        The posteriors of each example, those of all targets side by side; and ln P(e).

        Of the inputs instead, if that is asked. Of many examples, `progress` is told how many are
        done.
        """
    def explain(self, /, batch: Batch, running: EvalOptions) -> tuple[Incomplete, Incomplete]:
        """
        For each example the positions of the most probable values of all targets; and ln P of them.
        """
    def explain_best(self, /, batch: Batch, count: int, running: EvalOptions) -> list[tuple[Incomplete, Incomplete]]:
        """
        For each place from the best on, what `explain` gives.
        """
    def explains(self, /) -> bool: ...
    def export(self, /, path: str | PathLike[str], language: str) -> None:
        """
        Writes the circuit as a program in another language.
        """
    def families(self, /, batch: Batch, running: EvalOptions) -> tuple[list[tuple[int, Incomplete]], Incomplete]:
        """
        For each family, the variable and side by side for all examples its marginal; and ln P(e).
        """
    def forward(self, /, likelihoods: Incomplete, cpts: Sequence[tuple[int, Incomplete]], running: EvalOptions) -> tuple[Incomplete, Incomplete]:
        """
        Posteriors and ln P(e) of the likelihoods of all inputs side by side, with other CPTs.
        """
    @staticmethod
    def from_bytes(bytes: bytes) -> Circuit: ...
    def hard(self, /) -> list[int]: ...
    def has_target(self, /) -> bool:
        """
        Whether it asks for one variable.
        """
    def input(self, /, name: str) -> int:
        """
        Refuses a name that is not an input.
        """
    def inputs(self, /) -> list[int]: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Circuit: ...
    def save(self, /, path: str | PathLike[str]) -> None: ...
    def targets(self, /) -> list[int]: ...
    def to_bytes(self, /) -> bytes: ...
    def together(self, /) -> list[int]:
        """
        The variables that are asked for together.
        """
    def variables(self, /) -> list[tuple[str, list[str]]]:
        """
        The names and the values of all variables of the network, and of one that stands for
        several together.
        """

@final
class EvalOptions:
    """
    How to run.
    """
    def __new__(cls, /, precision: str, threads: int, memory: int | None) -> EvalOptions: ...

@final
class FitOptions:
    """
    How to learn: a preset, and the options that override it.
    """
    def __new__(cls, /, *, preset: str, method: str | None = None, loss: Sequence[tuple[str, float]] | None = None, start: str | None = None, starts: int | None = None, epochs: int | None = None, patience: int | None = None, batch: int | None = None, rate: tuple[float, float | None] | None = None, schedule: str | None = None, decay: int | None = None, momentum: float | None = None, validation: float | None = None, prior: float | None = None, temperature: tuple[float, float] | None = None, slope: tuple[float, float] | None = None, snap: bool = False, seed: int = 0, checkpoint: str | PathLike[str] | None = None, resume: bool = False) -> FitOptions: ...

@final
class Learned:
    """
    The result of learning.
    """
    @property
    def best(self, /) -> str:
        """
        The best epoch, as JSON.
        """
    @property
    def circuit(self, /) -> Circuit | None:
        """
        The circuit of the target, if there is one target.
        """
    @property
    def difference(self, /) -> float | None:
        """
        By how much posteriors of the network differ from those of the circuit, if CPTs are declared
        functional and that could be checked.
        """
    @property
    def groups(self, /) -> list[str]: ...
    @property
    def history(self, /) -> str:
        """
        All epochs, as JSON; none if the examples were complete and could be counted.
        """
    @property
    def network(self, /) -> Network:
        """
        The network with the CPTs that were learned.
        """
    @property
    def parameters(self, /) -> int:
        """
        The number of parameters, and the names of the groups that share them.
        """
    @property
    def warnings(self, /) -> list[str]:
        """
        Problems that did not stop the fit.
        """

@final
class Network:
    """
    A Bayesian or a Markov network.
    """
    @staticmethod
    def build(name: str, is_markov: bool, normalize: bool, variables: Sequence[tuple[str, Sequence[str]]], factors: Sequence[tuple[Sequence[int], Incomplete | Sequence[int], tuple[bool, bool, bool, str | None]]]) -> Network:
        """
        The network of variables with values, and factors.
        """
    def compile(self, /, query: Query, options: Options) -> Circuit:
        """
        Compiles a query.
        """
    def explanations(self, /, count: int, findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]], options: Options) -> list[tuple[list[int], float, float, int, bool]]:
        """
        The most probable values of all variables in order, at most `count` times; each with ln P of
        them, their probability given the evidence, their place, and whether others as probable were left out.
        """
    def factors(self, /) -> list[tuple[list[int], bool, tuple[bool, bool, bool, str | None]]]:
        """
        For each factor its scope, whether it is known to be a function, and what else is known:
        functional, fixed, keep_zeros, tie.
        """
    def find(self, /, name: str) -> int: ...
    def function(self, /, factor: int) -> list[int] | None:
        """
        The values of a function, in the order of the parents' joint states; none if it is not a known
        function.
        """
    def information(self, /, target: int, among: Sequence[int], before: Sequence[int], findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]], options: Options) -> tuple[float, list[tuple[int, float]]] | None:
        """
        The entropy of a target, and how much of it observing each of some variables is expected to remove, the
        largest first; none if the evidence is impossible.
        """
    def is_markov(self, /) -> bool: ...
    def is_separated(self, /, a: int, b: int, given: Sequence[int]) -> bool:
        """
        Whether some variables separate two others in the graph.
        """
    def map(self, /, variables: Sequence[int], count: int, findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]], options: Options, seconds: float | None = None) -> tuple[list[tuple[list[int], float]], float, bool, int, float]:
        """
        The most probable values of some variables, the others summed out: assignments with ln P of them and the
        evidence; the upper bound, whether it is proved, the nodes of the search, and ln P(e).

        The search ends after some seconds, if they are given.
        """
    def markov_blanket(self, /, variable: int) -> list[int]: ...
    def matching(self, /, pattern: str) -> list[int]: ...
    def mpe(self, /, findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]], options: Options) -> tuple[list[int] | None, float]:
        """
        The most probable values of all variables, none if the evidence is impossible; and ln P of
        them.
        """
    def name(self, /) -> str: ...
    def notes(self, /) -> list[str]:
        """
        What whoever read it from a file should know.
        """
    @staticmethod
    def parse(name: str, bytes: bytes, format: str | None, normalize: bool) -> Network:
        """
        Reads what a file called `name` would have.
        """
    def plan(self, /, query: Query, options: Options) -> Plan:
        """
        Plans a query.
        """
    def query(self, /, targets: Sequence[int], joint: bool, findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]], options: Options) -> tuple[list[tuple[int, list[float]]], float]:
        """
        The posteriors of some variables, of all if there are none; and ln P(e).
        """
    @staticmethod
    def read(path: str | PathLike[str], format: str | None, normalize: bool) -> Network: ...
    def sample(self, /, rows: int, seed: int) -> Incomplete:
        """
        Cases: a row for each, a column for each variable, the positions of their values.
        """
    def sample_given(self, /, rows: int, seed: int, findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]]) -> Incomplete | None:
        """
        The same from the posterior given evidence; none if the evidence is impossible.
        """
    def sensitivity(self, /, target: int, value: int, findings: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, Sequence[float]]]], options: Options) -> tuple[float, list[tuple[tuple[int, int], tuple[float, float], tuple[float, float], tuple[float, float, float, float]]]] | None:
        """
        How the probability of a value depends on the numbers of the CPTs: the probability; and for each number its
        variable and entry, the number, the derivative, its range and its function. None if the evidence is impossible.
        """
    def table(self, /, factor: int) -> Incomplete:
        """
        The numbers of a factor, the last of its scope moving fastest.
        """
    def to_string(self, /, format: str, lossy: bool) -> str: ...
    def value(self, /, variable: int, name: str) -> int: ...
    def variables(self, /) -> list[tuple[str, list[str]]]:
        """
        The names and the values of all variables.
        """
    def with_tables(self, /, tables: Sequence[tuple[int, Incomplete]]) -> Network:
        """
        The same network with other numbers in some CPTs.
        """
    def write(self, /, path: str | PathLike[str], format: str | None, lossy: bool) -> None: ...

@final
class Options:
    """
    How to compile.
    """
    def __new__(cls, /, level: str, effort: float, seed: int, memory: int | None, near: float) -> Options: ...

@final
class Plan:
    """
    A plan for a query: what it costs, and how it looks.
    """
    @property
    def dot(self, /) -> str:
        """
        The jointree in the language of Graphviz.
        """
    @property
    def json(self, /) -> str:
        """
        The report as JSON.
        """
    @property
    def profile(self, /) -> list[tuple[float, float]]:
        """
        For each node of the jointree, children first: the numbers of states of its cluster and of
        its separator.
        """
    @property
    def svg(self, /) -> str:
        """
        The jointree as a picture.
        """
    @property
    def text(self, /) -> str:
        """
        The report as text.
        """

@final
class Query:
    """
    A query to a network: some variables, all of them, some together, or an
    explanation.
    """
    def __new__(cls, /, targets: Sequence[str], joint: bool, given: Sequence[str], hard: Sequence[str], trainable: Sequence[str] | None, families: bool, explain: bool) -> Query: ...

@final
class Task:
    """
    Examples, what is predicted from what, and which CPTs are learned.
    """
    def __new__(cls, /, examples: Batch, weights: Incomplete | None, targets: Sequence[int], given: Sequence[str] | None, train: Sequence[str] | None, freeze: Sequence[str], strict_ties: bool) -> Task: ...

def arrow_columns(table: Incomplete, variables: Sequence[tuple[str, Sequence[str]]]) -> tuple[int, list[tuple[str, str, Any]]]:
    """
    The number of rows of a table, and the columns that variables with these names and values have.
    """

def fit(network: Network, task: Task, fit_options: FitOptions, options: Options, running: EvalOptions, progress: Any | None) -> Learned:
    """
    Learns; after every epoch `progress` is called.
    """
