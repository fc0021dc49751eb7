"""{title}

Written by sumout {version}, for {library}. The numbers are in the .safetensors file beside this one.

    model = Model()
    posterior, log_evidence = {call}

An input is given as the positions of its values, -1 where nothing is known, or as an array [batch, values] of likelihoods. Inputs that are
left out are not known; {hard_note}. `posterior` is [batch, values of the target],
`log_evidence` is [batch]; impossible evidence has zeros, and -inf.{target_note}

{usage}An example of a batch takes about {peak} numbers at once, besides {shared} that all share.{tests_note}
"""

import json
import math
from pathlib import Path

{imports}

INPUTS = {inputs}
HARD = {hard}
TARGET = {target}


def read(path):
    """The tensors of a safetensors file."""
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        begin, end = entry["data_offsets"]
        numbers = from_bytes(data[start + begin : start + end], entry["dtype"])
        tensors[name] = numbers.reshape(entry["shape"])
    return tensors


def examples(evidence):
    """The number of examples. Inputs are given by their names, those in HARD always."""
    unknown = sorted(set(evidence) - set(INPUTS))
    if unknown:
        raise KeyError(f"not inputs: {unknown}")
    missing = sorted(set(HARD) - set(evidence))
    if missing:
        raise KeyError(f"inputs that need values: {missing}")
    return len(next(iter(evidence.values()))) if evidence else 1


def gather(x, axes, index, shape):
    """The entries of the last axes that an index points to; zeros where it is -1."""
    lead = x.shape[: x.ndim - axes]
    return take(x.reshape(*lead, -1), index).reshape(*lead, *shape)


def rescale(x, axes):
    """Moves a power of two out of the last axes, so that products do not underflow."""
    lead = x.shape[: x.ndim - axes]
    scale, shift = power(x.reshape(*lead, -1))
    return x * scale.reshape(*lead, *[1] * axes), shift


