"""A neural network learns to read digits although nobody tells it which they are: only sums of two are labelled.

Its distribution over each digit is soft evidence for a circuit that knows how to add. The loss is that of the sum, and its gradient
goes through the circuit into the network.
"""

# Needs: torch, sumout.torch

import sys

import numpy as np
import sumout
import torch
from sumout.torch import Circuit

quick = "--quick" in sys.argv
digits, pairs, epochs = (4, 400, 30) if quick else (10, 3000, 40)

b = sumout.Builder("addition")
b.add("first", range(digits), cpt=np.full(digits, 1 / digits))
b.add("second", range(digits), cpt=np.full(digits, 1 / digits))
b.add("sum", range(2 * digits - 1), ["first", "second"], lambda first, second: first + second)
layer = Circuit(b.build().compile("sum", given=["first", "second"]))

torch.manual_seed(0)
shapes = torch.rand(digits, 64).round()  # what each digit looks like


def draw(numbers: torch.Tensor) -> torch.Tensor:
    return shapes[numbers] + 0.3 * torch.randn(len(numbers), 64)


first, second = torch.randint(digits, (2, pairs))
images, sums = (draw(first), draw(second)), first + second
reader = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, digits), torch.nn.Softmax(dim=1))
optimiser = torch.optim.Adam(reader.parameters(), lr=0.003)
loss = torch.zeros(())
for epoch in range(epochs):
    for batch in torch.randperm(pairs).split(64):
        believed = {"first": reader(images[0][batch]), "second": reader(images[1][batch])}
        posterior, _ = layer(believed)
        loss = torch.nn.functional.nll_loss(posterior.clamp_min(1e-9).log(), sums[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")

numbers = torch.randint(digits, (1000,))
accuracy = (reader(draw(numbers)).argmax(dim=1) == numbers).float().mean().item()
print(f"of single digits, which it was never told, it reads {100 * accuracy:.1f} % right")
assert accuracy > 0.9
