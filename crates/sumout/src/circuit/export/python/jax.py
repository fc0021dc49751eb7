def from_bytes(data, kind):
    """The numbers of a tensor."""
    return np.frombuffer(data, {"F64": "<f8", "I32": "<i4"}[kind])


def take(x, index):
    """The entries of the last axis at some places; zeros where these are -1."""
    return jnp.where(index >= 0, x[..., np.maximum(index, 0)], 0)


def power(x):
    """A power of two that brings the largest entry near one, and its exponent."""
    largest = jax.lax.stop_gradient(x).max(-1).clip(2.0**-120, 2.0**120)
    mantissa, shift = jnp.frexp(largest)
    return mantissa / largest, shift.astype(x.dtype)


def join(a, b, pairs, size):
    """Multiplies the entries that a list pairs, and adds the products at the listed places."""
    to, of_a, of_b = pairs
    product = a[..., of_a] * b[..., of_b]
    return jnp.zeros((*product.shape[:-1], size), product.dtype).at[..., to].add(product, indices_are_sorted=True)


def collect(tensors, counts, places, exponents):
    """Some entries of several tensors side by side, and the largest of their exponents."""
    lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    largest = 0
    for exponent in exponents:
        largest = jnp.maximum(largest, exponent)
    parts, start = [], 0
    for x, count, exponent in zip(tensors, counts, exponents):
        part = x[..., places[start : start + count]]
        scale = jnp.exp2(jnp.asarray(exponent - largest, x.dtype))[..., None]
        parts.append(jnp.broadcast_to(part * scale, (*lead, count)))
        start += count
    return jnp.concatenate(parts, -1), largest


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
        """The likelihood of a variable: ones if it is missing."""
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
        """The tensors that do not depend on the evidence."""
{constants}

    def __call__(self, evidence, tables=None):
        batch = examples(evidence)
        constant = self.constant if tables is None else self.constants(tables)

        def given(name, values, left):
            return self.likelihood(evidence, name, values, left, batch)

{forward}
