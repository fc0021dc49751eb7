"""Tall or wide? Learns to recognise rectangles in noisy images from a few of them, knowing how images come about.

A rectangle has a row, a column, a height and a width; a pixel is on if it is inside, but for noise. All of that are functions of unknown
variables, and only a few numbers are learned: the noise, and how positions and sizes are distributed.
"""

import sys

import numpy as np
import sumout

quick = "--quick" in sys.argv
size = 6 if quick else 10

net = sumout.read(f"rect:{size}")
print(net)
circuit = net.compile("label", given="pixel_*", effort=0.2)
report = circuit.report()
print(report)
print(f"classical elimination needs {report['classical']['entries']:,} numbers for an image, this circuit {report['entries']:,}\n")


def images(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images from the true model, which has noise of 0.1; and whether they are tall or wide."""
    cases = net.sample(rows, seed=seed)
    return np.stack([cases[name] for name in circuit.inputs], axis=1), cases["label"]


test, truth = images(1000, seed=0)
best = circuit.accuracy(test, truth)
print(f"the true model: {100 * best:.1f} % right, which nothing can beat but by luck")
learner = circuit
for rows in [25, 100] if quick else [25, 100, 1000]:
    learner = net.compile("label", given="pixel_*", effort=0.2)
    learned = learner.fit(*images(rows, seed=rows), seed=1, epochs=20 if quick else 100)
    accuracy = learner.accuracy(test, truth)
    print(f"learned from {rows:4} images, in {len(learned.history)} epochs: {100 * accuracy:.1f} % right")
    assert accuracy > best - 0.15

print("\none image, pixel by pixel:")
known = {}
for name, value in list(zip(circuit.inputs, test[0]))[:: 3 if quick else 10]:
    known[name] = str(value)
    tall = learner.posterior(known)["label"]["tall"]
    print(f"{len(known):3} pixels known: tall with probability {tall:.4f} {'#' * round(40 * tall)}")
print(f"it is {truth[0]}")
