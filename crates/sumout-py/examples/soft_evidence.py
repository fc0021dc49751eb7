"""A neural network learns to read digits, and nobody ever tells it which digit it sees.

Two noisy seven-segment displays are shown, and only the sum of their digits is known. A small network turns each display into
beliefs about its digit; a circuit computes from both what the sum is; and the gradient of that answer goes back through the circuit
into the network. The circuit knows that a sum is a function of two digits, and nothing is approximated.

    python soft_evidence.py            about half a minute
"""

import json

import sumout
import torch
from sumout.torch import Circuit

SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]


def addition() -> sumout.Network:
    """Two digits, all equally probable, and their sum."""
    digits = [str(digit) for digit in range(10)]
    variables = [{"name": name, "values": digits} for name in ["left", "right"]]
    variables.append({"name": "sum", "values": [str(total) for total in range(19)]})
    cpts = [{"child": name, "parents": [], "table": [0.1] * 10} for name in ["left", "right"]]
    function = [left + right for left in range(10) for right in range(10)]
    cpts.append({"child": "sum", "parents": ["left", "right"], "function": function})
    return sumout.reads(json.dumps({"sumout": 1, "name": "addition", "variables": variables, "cpts": cpts}), format="json")


def displays(digits: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """What the seven segments of displays look like, in bad light."""
    clean = torch.tensor([[float(segment) for segment in digit] for digit in SEGMENTS])
    return clean[digits] + 0.2 * torch.randn(*digits.shape, 7, generator=generator)


def main() -> float:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    reader = torch.nn.Sequential(torch.nn.Linear(7, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10), torch.nn.Softmax(dim=-1))
    adder = Circuit(addition().compile("sum", given=["left", "right"]), trainable=False)
    optimiser = torch.optim.Adam(reader.parameters(), lr=0.01)
    for step in range(301):
        digits = torch.randint(10, (256, 2), generator=generator)
        shown, total = displays(digits, generator), digits.sum(1)
        posterior, _ = adder({"left": reader(shown[:, 0]), "right": reader(shown[:, 1])})
        loss = -posterior[torch.arange(256), total].clamp(min=1e-12).log().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            print(f"step {step:3}: loss {loss.item():.3f}")
    digits = torch.randint(10, (5000,), generator=generator)
    accuracy = (reader(displays(digits, generator)).argmax(1) == digits).float().mean().item()
    print(f"it reads {100 * accuracy:.1f} % of single digits, which it was never told")
    return accuracy


if __name__ == "__main__":
    assert main() > 0.9
