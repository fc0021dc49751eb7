def from_bytes(data, kind):
    """The numbers of a tensor."""
    return np.frombuffer(data, {"F64": "<f8", "I32": "<i4"}[kind])


def take(x, index):
    """The entries of the last axis at some places; zeros where these are -1."""
    return np.where(index >= 0, x[..., np.maximum(index, 0)], x.dtype.type(0))


def power(x):
    """A power of two that brings the largest entry near one, and its exponent."""
    shift = np.frexp(x.max(-1))[1].clip(-120, 120)
    return np.ldexp(x.dtype.type(1), -shift), shift.astype(np.float64)


def join(a, b, pairs, size):
    """Multiplies the entries that a list pairs, and adds the products at the listed places."""
    to, of_a, of_b = pairs
    product = a[..., of_a] * b[..., of_b]
    sums = np.zeros((*product.shape[:-1], size), product.dtype)
    if to.size:
        starts = np.flatnonzero(np.diff(to, prepend=-1))
        sums[..., to[starts]] = np.add.reduceat(product, starts, axis=-1)
    return sums


def collect(tensors, counts, places, exponents):
    """Some entries of several tensors side by side, and the largest of their exponents."""
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    largest = 0
    for exponent in exponents:
        largest = np.maximum(largest, exponent)
    parts, start = [], 0
    for x, count, exponent in zip(tensors, counts, exponents):
        part = x[..., places[start : start + count]]
        scale = np.exp2(np.asarray(exponent - largest))[..., None].astype(x.dtype)
        parts.append(np.broadcast_to(part * scale, (*lead, count)))
        start += count
    return np.concatenate(parts, -1), largest


def log(x):
    """The logarithm, -inf of zero."""
    with np.errstate(divide="ignore"):
        return np.log(x.astype(np.float64))

{selections}

class Model:
    def __init__(self, dtype=np.{dtype}):
        self.dtype = dtype
        for name, tensor in read(Path(__file__).with_suffix(".safetensors")).items():
            setattr(self, name, tensor.astype(dtype if name.startswith("table") else np.int64))
        self.constant = self.constants()

    def likelihood(self, evidence, name, values, left, batch):
        """The likelihood of a variable: ones if it is missing."""
        if name not in evidence:
            return np.ones((batch, len(left)), self.dtype)
        given = np.asarray(evidence[name])
        if given.ndim == 1:
            given = (given[:, None] == np.arange(values)) | (given[:, None] < 0)
        if given.shape != (batch, values):
            raise ValueError(f"{name} has shape {given.shape}, not {(batch, values)}")
        if name in HARD and ((given > 0).sum(-1) > 1).any():
            raise ValueError(f"{name} needs a value in every example")
        return given.astype(self.dtype)[:, left]

    def constants(self):
        """The tensors that do not depend on the evidence."""
{constants}

    def __call__(self, evidence):
        batch = examples(evidence)
        constant = self.constant

        def given(name, values, left):
            return self.likelihood(evidence, name, values, left, batch)

{forward}
