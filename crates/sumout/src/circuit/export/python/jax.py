"""{title}

Written by sumout {version}, for JAX. The numbers are in the .safetensors file beside this one.

    model = Model()
    posterior, log_evidence = jax.jit(model)({"input": jnp.array([0, 1, -1])})

An input is given as the positions of its values, -1 where nothing is known, or as an array [batch, values] of likelihoods. Inputs that are
left out are not known; an example without one value of each input in HARD is impossible. `posterior` is [batch, values of the target],
`log_evidence` is [batch]; impossible evidence has zeros, and -inf.{target_note}

`model(evidence, tables)` takes tables instead of `model.tables`, so that `jax.grad` trains them. 64 bits need
jax.config.update("jax_enable_x64", True), and Model(jnp.float64). An example of a batch takes about {peak} numbers at once, besides
{shared} that all share.{tests_note}
"""

import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
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
    return jnp.zeros((*product.shape[:-1], size), product.dtype).at[..., to].add(product, indices_are_sorted=True)


def gather(x, axes, index, shape):
    """The entries of the last axes that an index points to; zeros where it is -1."""
    lead = x.shape[: x.ndim - axes]
    taken = x.reshape(*lead, -1)[..., np.maximum(index, 0)]
    return jnp.where(index >= 0, taken, 0).reshape(*lead, *shape)


def rescale(x, axes):
    """Moves a power of two out of the last axes, so that products do not underflow."""
    lead = x.shape[: x.ndim - axes]
    largest = jax.lax.stop_gradient(x).reshape(*lead, -1).max(-1).clip(2.0**-120, 2.0**120)
    mantissa, shift = jnp.frexp(largest)
    return x * (mantissa / largest).reshape(*lead, *[1] * axes), shift.astype(x.dtype)


def log(x):
    """The logarithm, -inf of zero, where its gradient is zero."""
    possible = x > 0
    return jnp.where(possible, jnp.log(jnp.where(possible, x, 1)), -jnp.inf)

{selections}

class Model:
    def __init__(self, dtype=jnp.float32):
        self.dtype, self.tables = dtype, {}
        for name, tensor in read(Path(__file__).with_suffix(".safetensors")).items():
            if name.startswith("table"):
                self.tables[name] = jnp.asarray(tensor, dtype)
            else:
                setattr(self, name, tensor)
        self.constant = self.constants(self.tables)

    def likelihood(self, evidence, name, values, left, batch):
        """What is known of a variable: ones if nothing is."""
        if name not in evidence:
            return jnp.ones((batch, len(left)), self.dtype)
        given = jnp.asarray(evidence[name])
        if given.ndim == 1:
            given = (given[:, None] == jnp.arange(values)) | (given[:, None] < 0)
        if given.shape != (batch, values):
            raise ValueError(f"{name} has shape {given.shape}, not {(batch, values)}")
        if name in HARD:
            given = jnp.where((given > 0).sum(-1, keepdims=True) > 1, 0, given)
        return given.astype(self.dtype)[:, np.array(left)]

    def constants(self, tables):
        """What does not depend on the evidence."""
{constants}

    def __call__(self, evidence, tables=None):
        unknown = sorted(set(evidence) - set(INPUTS))
        if unknown:
            raise KeyError(f"no inputs: {unknown}")
        missing = sorted(set(HARD) - set(evidence))
        if missing:
            raise KeyError(f"inputs that need values: {missing}")
        batch = len(next(iter(evidence.values()))) if evidence else 1
        constant = self.constant if tables is None else self.constants(tables)

        def given(name, values, left):
            return self.likelihood(evidence, name, values, left, batch)

{forward}
