"""The same questions to sumout and to pgmpy, side by side: ALARM, which monitors patients.

Needs the file of the network; `models/alarm.bif.gz` in the repository is one.
"""

# Needs: pgmpy, pandas

import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
import sumout
from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader

logging.disable(logging.CRITICAL)
rows = 50 if "--quick" in sys.argv else 1000
path = Path(__file__).resolve().parents[3] / "models/alarm.bif.gz"

# Read. pgmpy takes plain files only.
net = sumout.read(path)
plain = Path(tempfile.mkdtemp()) / "alarm.bif"
net.write(plain)
model: Any = BIFReader(str(plain)).get_model()
print(net)

# Ask.
seen = {"HRBP": "HIGH", "CO": "LOW", "BP": "LOW"}
ours = net.query("HYPOVOLEMIA", given=seen)
engine: Any = VariableElimination(model)
theirs = engine.query(["HYPOVOLEMIA"], evidence=seen, show_progress=False)
print("sumout:", {value: round(p, 6) for value, p in ours.items()})
print("pgmpy: ", {value: round(float(p), 6) for value, p in zip(theirs.state_names["HYPOVOLEMIA"], theirs.values)})
assert all(abs(ours[value] - p) < 1e-9 for value, p in zip(theirs.state_names["HYPOVOLEMIA"], theirs.values))

# The probability of the evidence, and an explanation.
print(f"ln P(seen) = {ours.log_evidence:.6f}")
explained = net.mpe(seen)
print("most probable explanation:", {k: explained[k] for k in ["HYPOVOLEMIA", "LVFAILURE", "TPR", "CATECHOL"]})

# Many patients.
patients = pd.DataFrame(net.sample(rows, seed=1)).drop(columns="HYPOVOLEMIA")
start = time.perf_counter()
circuit = net.compile("HYPOVOLEMIA", given=list(patients.columns))
compiled = time.perf_counter()
posterior = circuit.posterior(patients)
done = time.perf_counter()
predicted = model.predict_probability(patients)
end = time.perf_counter()
difference = abs(posterior[:, 0] - predicted["HYPOVOLEMIA_TRUE"].to_numpy()).max()
print(f"\n{rows} patients: sumout {done - compiled:.4f} s (compiled in {compiled - start:.2f} s), pgmpy {end - done:.1f} s,")
print(f"{(end - done) / (done - compiled):,.0f} times as long; posteriors differ by at most {difference:.1e}")
assert difference < 1e-8
