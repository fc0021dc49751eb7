

def share(x):
    """Numbers divided by their sum; equal ones if that is zero."""
    total = x.sum(-1, keepdims=True)
    return jnp.where(total > 0, x / jnp.where(total > 0, total, 1), 1 / x.shape[-1])


def step(p, gaps, copies, larger, equal):
    """All of the copy k, if k thresholds are passed; what differs by rounding is equal."""
    thresholds = gaps.reshape(-1, copies)[:, :-1].cumsum(-1)
    distance = jax.lax.stop_gradient(p[..., None] - thresholds)
    near = jnp.abs(distance) <= (1e-12 if p.dtype == jnp.float64 else 1e-6)
    passed = jnp.where(near, equal, (distance > 0) == larger).sum(-1)
    return flat((passed[..., None] == jnp.arange(copies)).astype(p.dtype))


def sigmoid(p, gaps, log_slope, copies):
    """Of the copy k, s(p - T_k) - s(p - T_k+1), in which nothing cancels."""
    gaps, slope = gaps.reshape(-1, copies), jnp.exp(log_slope)
    x = slope * (p[..., None] - gaps[:, :-1].cumsum(-1))
    one, ones = jnp.ones_like(x[..., :1]), jnp.ones_like(gaps[:, :1])
    factor = jnp.concatenate([ones, -jnp.expm1(-slope * gaps[:, 1:-1]), ones], -1)
    yes, no = jax.nn.sigmoid(x), jax.nn.sigmoid(-x)
    return flat(jnp.concatenate([one, yes], -1) * jnp.concatenate([no, one], -1) * factor)


def linear(p):
    """Of the second copy as much as p, and of the first as much as all others: 1 - p would lose what is left beside one."""
    zero = jnp.zeros_like(p[..., :1])
    before = jnp.concatenate([zero, p[..., :-1].cumsum(-1)], -1)
    behind = jnp.concatenate([p[..., :0:-1].cumsum(-1)[..., ::-1], zero], -1)
    return flat(jnp.stack([before + behind, p], -1))


def softmax(shares, numbers, copies, size):
    """The softmax of W e + b, the same for all rows or each row's own."""
    batch = jnp.broadcast_shapes(*[share.shape[:-1] for share in shares])
    e = jnp.concatenate([jnp.broadcast_to(share, (*batch, share.shape[-1])) for share in shares], -1)
    biases = len(numbers) // (e.shape[-1] + 1)
    logits = jnp.matmul(e, numbers[:-biases].reshape(biases, -1).T, precision="highest") + numbers[-biases:]
    weights = flat(jax.nn.softmax(logits.reshape(*batch, -1, copies), -1))
    return jnp.tile(weights, (*[1] * len(batch), size // biases))


def flat(weights):
    """The weights of all rows, one after the other."""
    return weights.reshape(*weights.shape[:-2], -1)
