def from_bytes(data, kind):
    """The numbers of a tensor."""
    return torch.frombuffer(data, dtype={"F64": torch.float64, "I32": torch.int32}[kind])


def take(x, index):
    """The entries of the last axis at some places; zeros where these are -1."""
    return x.index_select(-1, index.clamp(min=0)).mul(index >= 0)


def power(x):
    """A power of two that brings the largest entry near one, and its exponent."""
    shift = torch.frexp(x.detach().amax(-1))[1].clamp(-120, 120).to(x.dtype)
    return torch.exp2(-shift), shift


def join(a, b, pairs, size):
    """Multiplies the entries that a list pairs, and adds the products at the listed places."""
    to, of_a, of_b = pairs
    product = a.index_select(-1, of_a) * b.index_select(-1, of_b)
    return product.new_zeros(*product.shape[:-1], size).index_add(-1, to, product)


def collect(tensors, counts, places, exponents):
    """Some entries of several tensors side by side, and the largest of their exponents."""
    lead = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    largest = places.new_zeros(())
    for exponent in exponents:
        largest = torch.maximum(largest, torch.as_tensor(exponent, device=places.device))
    parts, start = [], 0
    for x, count, exponent in zip(tensors, counts, exponents):
        part = x.index_select(-1, places[start : start + count])
        scale = torch.exp2((exponent - largest).to(x.dtype))[..., None]
        parts.append((part * scale).expand(*lead, count))
        start += count
    return torch.cat(parts, -1), largest


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
        """The likelihood of a variable: ones if it is missing."""
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
        """The tensors that do not depend on the evidence."""
{constants}

    def forward(self, evidence):
        batch = examples(evidence)
        if self.trainable:
            constant = self.constants()
        else:
            with torch.no_grad():
                constant = self.constant = self.constant or self.constants()

        def given(name, values, left):
            return self.likelihood(evidence, name, values, left, batch)

{forward}
