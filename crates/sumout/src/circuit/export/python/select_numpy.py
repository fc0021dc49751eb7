

def share(x):
    """Numbers divided by their sum; equal ones if that is zero."""
    total = x.sum(-1, keepdims=True)
    return np.where(total > 0, x / np.where(total > 0, total, 1), x.dtype.type(1 / x.shape[-1]))


def step(p, gaps, copies, larger, equal):
    """All of the copy k, if k thresholds are passed; what differs by rounding is equal."""
    thresholds = gaps.reshape(-1, copies)[:, :-1].cumsum(-1)
    distance = p[..., None] - thresholds
    near = np.abs(distance) <= (1e-12 if p.dtype == np.float64 else 1e-6)
    passed = np.where(near, equal, (distance > 0) == larger).sum(-1)
    return flat(passed[..., None] == np.arange(copies)).astype(p.dtype)


def sigmoid(p, gaps, log_slope, copies):
    """Of the copy k, s(p - T_k) - s(p - T_k+1), in which nothing cancels."""
    gaps, slope = gaps.reshape(-1, copies), np.exp(log_slope)
    x = slope * (p[..., None] - gaps[:, :-1].cumsum(-1))
    small = np.exp(-np.abs(x))
    yes, no = np.where(x >= 0, 1, small) / (1 + small), np.where(x >= 0, small, 1) / (1 + small)
    one = np.ones_like(yes[..., :1])
    middle = -np.expm1(-slope * gaps[:, 1:-1])
    factor = np.concatenate([np.ones_like(gaps[:, :1]), middle, np.ones_like(gaps[:, :1])], -1)
    return flat(np.concatenate([one, yes], -1) * np.concatenate([no, one], -1) * factor)


def linear(p):
    """Of the second copy as much as p, and of the first as much as all others: 1 - p would lose what is left beside one."""
    zero = np.zeros_like(p[..., :1])
    before = np.concatenate([zero, p[..., :-1].cumsum(-1)], -1)
    behind = np.concatenate([p[..., :0:-1].cumsum(-1)[..., ::-1], zero], -1)
    return flat(np.stack([before + behind, p], -1))


def softmax(shares, numbers, copies, size):
    """The softmax of W e + b, the same for all rows or each row's own."""
    batch = np.broadcast_shapes(*[share.shape[:-1] for share in shares])
    e = np.concatenate([np.broadcast_to(share, (*batch, share.shape[-1])) for share in shares], -1)
    biases = len(numbers) // (e.shape[-1] + 1)
    logits = e @ numbers[:-biases].reshape(biases, -1).T + numbers[-biases:]
    logits = logits.reshape(*batch, -1, copies)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights = flat(weights / weights.sum(-1, keepdims=True))
    return np.tile(weights, (*[1] * len(batch), size // biases))


def flat(weights):
    """The weights of all rows, one after the other."""
    return weights.reshape(*weights.shape[:-2], -1)
