"""{title}

Written by sumout {version}, for NumPy. The numbers are in the .safetensors file beside this one.

    model = Model()
    posterior, log_evidence = model({"input": [0, 1, -1]})

An input is given as the positions of its values, -1 where nothing is known, or as an array [batch, values] of likelihoods. Inputs that are
left out are not known; those in HARD need a value in every example. `posterior` is [batch, values of the target], `log_evidence` is [batch]; impossible evidence has zeros, and
-inf.{target_note}

An example of a batch takes about {peak} numbers at once, besides {shared} that all share.{tests_note}
"""

import json
import math
from pathlib import Path

import numpy as np

INPUTS = {inputs}
HARD = {hard}
TARGET = {target}


def read(path):
    """The tensors of a safetensors file."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    kinds = {"F64": "<f8", "I32": "<i4"}
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(data[start + begin : start + end], kinds[entry["dtype"]])
        tensors[name] = numbers.reshape(entry["shape"])
    return tensors


def join(a, b, pairs, size):
    """Multiplies the entries that a list pairs, and sums the products to where it says."""
    to, of_a, of_b = pairs
    product = a[..., of_a] * b[..., of_b]
    sums = np.zeros((*product.shape[:-1], size), product.dtype)
    if to.size:
        starts = np.flatnonzero(np.diff(to, prepend=-1))
        sums[..., to[starts]] = np.add.reduceat(product, starts, axis=-1)
    return sums


def gather(x, axes, index, shape):
    """The entries of the last axes that an index points to; zeros where it is -1."""
    lead = x.shape[: x.ndim - axes]
    taken = x.reshape(*lead, -1)[..., np.maximum(index, 0)]
    return np.where(index >= 0, taken, x.dtype.type(0)).reshape(*lead, *shape)


def rescale(x, axes):
    """Moves a power of two out of the last axes, so that products do not underflow."""
    lead = x.shape[: x.ndim - axes]
    shift = np.frexp(x.reshape(*lead, -1).max(-1))[1].clip(-120, 120)
    return np.ldexp(x, -shift.reshape(*lead, *[1] * axes)), shift.astype(np.float64)


def log(x):
    """The logarithm, -inf of zero."""
    with np.errstate(divide="ignore"):
        return np.log(x.astype(np.float64))

{selections}

class Model:
    def __init__(self, dtype=np.{dtype}):
        self.dtype = dtype
        for name, tensor in read(Path(__file__).with_suffix(".safetensors")).items():
            setattr(self, name, tensor.astype(dtype if name.startswith("table") else np.int64))
        self.constant = self.constants()

    def likelihood(self, evidence, name, values, left, batch):
        """What is known of a variable: ones if nothing is."""
        if name not in evidence:
            return np.ones((batch, len(left)), self.dtype)
        given = np.asarray(evidence[name])
        if given.ndim == 1:
            given = (given[:, None] == np.arange(values)) | (given[:, None] < 0)
        if given.shape != (batch, values):
            raise ValueError(f"{name} has shape {given.shape}, not {(batch, values)}")
        if name in HARD and ((given > 0).sum(-1) > 1).any():
            raise ValueError(f"{name} needs a value in every example")
        return given.astype(self.dtype)[:, left]

    def constants(self):
        """What does not depend on the evidence."""
{constants}

    def __call__(self, evidence):
        unknown = sorted(set(evidence) - set(INPUTS))
        if unknown:
            raise KeyError(f"no inputs: {unknown}")
        missing = sorted(set(HARD) - set(evidence))
        if missing:
            raise KeyError(f"inputs that need values: {missing}")
        batch = len(next(iter(evidence.values()))) if evidence else 1
        constant = self.constant

        def given(name, values, left):
            return self.likelihood(evidence, name, values, left, batch)

{forward}
