

def share(x):
    """Numbers divided by their sum; equal ones if that is zero."""
    total = x.sum(-1, keepdim=True)
    return torch.where(total > 0, x / torch.where(total > 0, total, 1), 1 / x.shape[-1])


def step(p, gaps, copies, larger, equal):
    """All of the copy k, if k thresholds are passed; what differs by rounding is equal."""
    thresholds = gaps.reshape(-1, copies)[:, :-1].cumsum(-1)
    distance = (p[..., None] - thresholds).detach()
    near = distance.abs() <= (1e-12 if p.dtype == torch.float64 else 1e-6)
    passed = torch.where(near, equal, (distance > 0) == larger).sum(-1)
    return (passed[..., None] == torch.arange(copies)).to(p.dtype).flatten(-2)


def sigmoid(p, gaps, log_slope, copies):
    """Of the copy k, s(p - T_k) - s(p - T_k+1), in which nothing cancels."""
    gaps, slope = gaps.reshape(-1, copies), log_slope.exp()
    x = slope * (p[..., None] - gaps[:, :-1].cumsum(-1))
    one, ones = torch.ones_like(x[..., :1]), torch.ones_like(gaps[:, :1])
    factor = torch.cat([ones, -torch.expm1(-slope * gaps[:, 1:-1]), ones], -1)
    return (torch.cat([one, x.sigmoid()], -1) * torch.cat([(-x).sigmoid(), one], -1) * factor).flatten(-2)


def linear(p):
    """Of the second copy as much as p, and of the first as much as all others: 1 - p would lose what is left beside one."""
    zero = torch.zeros_like(p[..., :1])
    before = torch.cat([zero, p[..., :-1].cumsum(-1)], -1)
    behind = torch.cat([p[..., 1:].flip(-1).cumsum(-1).flip(-1), zero], -1)
    return torch.stack([before + behind, p], -1).flatten(-2)


def softmax(shares, numbers, copies, size):
    """The softmax of W e + b, the same for all rows or each row's own."""
    batch = torch.broadcast_shapes(*[share.shape[:-1] for share in shares])
    e = torch.cat([share.expand(*batch, share.shape[-1]) for share in shares], -1)
    biases = len(numbers) // (e.shape[-1] + 1)
    logits = e @ numbers[:-biases].reshape(biases, -1).T + numbers[-biases:]
    weights = logits.unflatten(-1, (-1, copies)).softmax(-1).flatten(-2)
    return weights.repeat(*[1] * len(batch), size // biases)
