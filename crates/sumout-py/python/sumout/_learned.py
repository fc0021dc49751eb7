"""Networks with other numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import Error
from ._network import Network, reads


def with_cpts(network: Network, cpts: Mapping[str, NDArray[Any]]) -> Network:
    """The same network with other CPTs for some variables: a row for each joint state of the parents, the last one fastest."""
    text: dict[str, Any] = json.loads(network.to_string("json"))
    entries = {entry["child"]: entry for entry in text.get("cpts", [])}
    for name, table in cpts.items():
        if name not in entries:
            raise Error("name", f"the network has no CPT of `{name}`")
        rows = np.asarray(table, dtype=np.float64).reshape(-1, len(network.values(name)))
        entries[name].pop("function", None)
        entries[name]["table"] = rows.tolist()
    return Network(reads(json.dumps(text), format="json")._raw, network._variables.typed)
