"""Which gate is broken? Diagnoses a ripple-carry adder from what it computes.

Each gate is sound, stuck at 0 or stuck at 1. Given its inputs and its state, its output follows: every gate is a function, and that is
what keeps the circuit small. Only outputs of the whole adder are seen.
"""

import sys

import numpy as np
import sumout

bits = 4 if "--quick" in sys.argv else 16
STATES = ["sound", "stuck at 0", "stuck at 1"]


def gate(function):
    """The output of a gate, with its state as the last argument."""
    broken = {"stuck at 0": 0, "stuck at 1": 1}
    return lambda *inputs: broken.get(inputs[-1], function(*inputs[:-1]))


def adder(bits: int) -> sumout.Network:
    b = sumout.Builder("adder")

    def add_gate(name: str, inputs: list[str], function) -> str:
        b.add(f"{name}.state", STATES, cpt=[0.99, 0.005, 0.005])
        b.add(name, [0, 1], [*inputs, f"{name}.state"], gate(function))
        return name

    carry = None
    for k in range(bits):
        b.add(f"a{k}", [0, 1], cpt=[0.5, 0.5])
        b.add(f"b{k}", [0, 1], cpt=[0.5, 0.5])
        half = add_gate(f"xor{k}", [f"a{k}", f"b{k}"], lambda x, y: x ^ y)
        both = add_gate(f"and{k}", [f"a{k}", f"b{k}"], lambda x, y: x & y)
        if carry is None:
            carry = both
            continue
        add_gate(f"sum{k}", [half, carry], lambda x, y: x ^ y)
        through = add_gate(f"through{k}", [half, carry], lambda x, y: x & y)
        carry = add_gate(f"carry{k}", [both, through], lambda x, y: x | y)
    return b.build()


net = adder(bits)
gates = [name.removesuffix(".state") for name in net.matching("*.state")]
outputs = ["xor0", *(f"sum{k}" for k in range(1, bits)), f"carry{bits - 1}"]
inputs = [f"{side}{k}" for k in range(bits) for side in "ab"]
print(f"{net}\n{len(gates)} gates, {len(inputs)} inputs and {len(outputs)} outputs are seen\n")

# One wrong sum: 0 + 0 where the output of bit 2 is 1.
seen = {**{name: 0 for name in inputs}, **{name: 0 for name in outputs}, "sum2": 1}
suspects = net.query([f"{name}.state" for name in gates], given=seen)
print("0 + 0 = 4. Suspects:")
for name, state in sorted(suspects.items(), key=lambda pair: pair[1]["sound"])[:4]:
    print(f"  {name:15} sound {state['sound']:.3f}, stuck at 0 {state['stuck at 0']:.3f}, stuck at 1 {state['stuck at 1']:.3f}")
best = net.mpe(seen)
print("best explanation:", {k: v for k, v in best.items() if k.endswith(".state") and v != "sound"})
print(f"P(seen) = {np.exp(suspects.log_evidence):.3g}\n")

# A thousand adders off the line, one test vector each: compiled once.
circuit = net.compile("sum2.state", given=[*inputs, *outputs])
adders = net.sample(1000, seed=3)
posterior = circuit.posterior({name: adders[name] for name in circuit.inputs})
broken = adders["sum2.state"] != "sound"
print(f"of 1000 adders, sum2 is broken in {broken.sum()}; P(sound) is {posterior[broken, 0].mean():.3f} for these on average,")
print(f"and {posterior[~broken, 0].mean():.3f} for the others")
assert posterior[broken, 0].mean() < posterior[~broken, 0].mean() if broken.any() else True
