"""{title}

Written by sumout {version}, for PyTorch. The numbers are in the .safetensors file beside this one.

    model = Model()
    posterior, log_evidence = model({"input": [0, 1, -1]})

An input is given as the positions of its values, -1 where nothing is known, or as an array [batch, values] of likelihoods. Inputs that are
left out are not known; those in HARD need a value in every example. `posterior` is [batch, values of the target], `log_evidence` is [batch]; impossible evidence has zeros, and
-inf.{target_note}

Model(trainable=True) has the tables as parameters. An example of a batch takes about {peak} numbers at once, besides {shared} that all share.{tests_note}
"""

import json
import math
from pathlib import Path

import torch

INPUTS = {inputs}
HARD = {hard}
TARGET = {target}


def read(path):
    """The tensors of a safetensors file."""
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    kinds = {"F64": torch.float64, "I32": torch.int32}
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        count = math.prod(entry["shape"])
        where = {"dtype": kinds[entry["dtype"]], "count": count, "offset": start + entry["data_offsets"][0]}
        tensors[name] = torch.frombuffer(data, **where).reshape(entry["shape"])
    return tensors


def join(a, b, pairs, size):
    """Multiplies the entries that a list pairs, and sums the products to where it says."""
    to, of_a, of_b = pairs
    product = a.index_select(-1, of_a) * b.index_select(-1, of_b)
    return product.new_zeros(*product.shape[:-1], size).index_add(-1, to, product)


def gather(x, axes, index, shape):
    """The entries of the last axes that an index points to; zeros where it is -1."""
    lead = x.shape[: x.dim() - axes]
    taken = x.reshape(*lead, -1).index_select(-1, index.clamp(min=0))
    return taken.mul(index >= 0).reshape(*lead, *shape)


def rescale(x, axes):
    """Moves a power of two out of the last axes, so that products do not underflow."""
    lead = x.shape[: x.dim() - axes]
    largest = x.detach().reshape(*lead, -1).amax(-1)
    shift = torch.frexp(largest)[1].clamp(-120, 120).to(x.dtype)
    return x * torch.exp2(-shift).reshape(*lead, *[1] * axes), shift


def log(x):
    """The logarithm, -inf of zero, where its gradient is zero."""
    possible = x > 0
    return torch.where(possible, torch.log(torch.where(possible, x, 1)), -math.inf)

{selections}

class Model(torch.nn.Module):
    def __init__(self, dtype=torch.{dtype}, trainable=False):
        super().__init__()
        self.dtype, self.trainable = dtype, trainable
        for name, tensor in read(Path(__file__).with_suffix(".safetensors")).items():
            if not name.startswith("table"):
                self.register_buffer(name, tensor.long())
            elif trainable:
                self.register_parameter(name, torch.nn.Parameter(tensor.to(dtype)))
            else:
                self.register_buffer(name, tensor.to(dtype))
        self.constant = None

    def likelihood(self, evidence, name, values, left, batch):
        """What is known of a variable: ones if nothing is."""
        if name not in evidence:
            return torch.ones(batch, len(left), dtype=self.dtype)
        given = torch.as_tensor(evidence[name])
        if given.dim() == 1:
            given = (given[:, None] == torch.arange(values)) | (given[:, None] < 0)
        if tuple(given.shape) != (batch, values):
            raise ValueError(f"{name} has shape {tuple(given.shape)}, not {(batch, values)}")
        if name in HARD and ((given > 0).sum(-1) > 1).any():
            raise ValueError(f"{name} needs a value in every example")
        return given.to(self.dtype)[:, left]

    def constants(self):
        """What does not depend on the evidence."""
{constants}

    def forward(self, evidence):
        unknown = sorted(set(evidence) - set(INPUTS))
        if unknown:
            raise KeyError(f"no inputs: {unknown}")
        missing = sorted(set(HARD) - set(evidence))
        if missing:
            raise KeyError(f"inputs that need values: {missing}")
        batch = len(next(iter(evidence.values()))) if evidence else 1
        if self.trainable:
            constant = self.constants()
        else:
            with torch.no_grad():
                constant = self.constant = self.constant or self.constants()

        def given(name, values, left):
            return self.likelihood(evidence, name, values, left, batch)

{forward}
