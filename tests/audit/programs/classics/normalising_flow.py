"""RealNVP: affine coupling layers with alternating masks, trained on a banana by likelihood."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

DIM, HIDDEN, LAYERS, BATCH = 3, 24, 4, 64
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(4e-3))


class Coupling(eqx.Module):
    """Moves the unmasked coordinates by what the masked ones say."""

    conditioner: eqx.nn.MLP
    scale: jax.Array
    mask: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, mask, *, key):
        self.mask = mask
        self.scale = jnp.zeros(len(mask))
        size = len(mask)
        self.conditioner = eqx.nn.MLP(size, 2 * size, HIDDEN, 2, jax.nn.tanh, key=key)

    def parameters(self, kept):
        log_scale, shift = jnp.split(self.conditioner(kept), 2)
        free = 1.0 - jnp.array(self.mask)
        return jnp.exp(self.scale) * jnp.tanh(log_scale) * free, shift * free

    def forward(self, z):
        kept = z * jnp.array(self.mask)
        log_scale, shift = self.parameters(kept)
        return kept + (1 - jnp.array(self.mask)) * (z * jnp.exp(log_scale) + shift), log_scale.sum()

    def inverse(self, x):
        kept = x * jnp.array(self.mask)
        log_scale, shift = self.parameters(kept)
        z = kept + (1 - jnp.array(self.mask)) * (x - shift) * jnp.exp(-log_scale)
        return z, -log_scale.sum()


class Flow(eqx.Module):
    layers: list[Coupling]

    def __init__(self, *, key):
        masks = [tuple((i + j) % 2 for j in range(DIM)) for i in range(LAYERS)]
        keys = jax.random.split(key, LAYERS)
        self.layers = [Coupling(mask, key=k) for mask, k in zip(masks, keys, strict=True)]

    def forward(self, z):
        log_det = 0.0
        for layer in self.layers:
            z, change = layer.forward(z)
            log_det += change
        return z, log_det

    def inverse(self, x):
        log_det = 0.0
        for layer in reversed(self.layers):
            x, change = layer.inverse(x)
            log_det += change
        return x, log_det

    def log_prob(self, x):
        z, log_det = self.inverse(x)
        return jax.scipy.stats.norm.logpdf(z).sum() + log_det

    def sample(self, key, count):
        z = jax.random.normal(key, (count, DIM))
        return jax.vmap(self.forward)(z)[0]


def loss_fn(flow, xs):
    return -jnp.mean(jax.vmap(flow.log_prob)(xs))


@eqx.filter_jit
def entry(flow, opt_state, xs):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(flow, xs)
    updates, opt_state = OPTIMISER.update(grads, opt_state)
    return eqx.apply_updates(flow, updates), opt_state, loss


def banana(rng, count):
    z = rng.normal(size=(count, DIM))
    x = np.stack([z[:, 0], 0.5 * z[:, 1] + 0.7 * z[:, 0] ** 2, 0.8 * z[:, 2] + z[:, 0]], axis=1)
    return jnp.asarray(x, jnp.float32)


def inputs():
    flow = Flow(key=jax.random.key(0))
    state = OPTIMISER.init(eqx.filter(flow, eqx.is_array))
    return flow, state, banana(np.random.default_rng(0), BATCH)


AXES = {"xs": "batch dim"}


def check():
    flow, _, _ = inputs()
    rng = np.random.default_rng(1)
    # Away from the identity, where a wrong sign would not show.
    flow = jax.tree.map(lambda p: p * 1.3 if eqx.is_array(p) else p, flow)
    z = jnp.asarray(rng.normal(size=DIM), jnp.float32)
    x, log_det = flow.forward(z)
    back, log_det_back = flow.inverse(x)
    np.testing.assert_allclose(back, z, atol=1e-5)
    np.testing.assert_allclose(log_det_back, -log_det, atol=1e-5)
    jacobian = np.asarray(jax.jacobian(lambda z: flow.forward(z)[0])(z), np.float64)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(jacobian)[1], atol=1e-4)

    flow, state, _ = inputs()
    for _ in range(300):
        flow, state, _ = entry(flow, state, banana(rng, BATCH))
    # The entropy of the banana: that of a Gaussian, its volume scaled by a half times 0.8.
    entropy = 0.5 * DIM * np.log(2 * np.pi * np.e) + np.log(0.5 * 0.8)
    unseen = float(loss_fn(flow, banana(rng, 4000)))
    assert entropy - 0.05 < unseen < entropy + 0.2, (unseen, entropy)
    samples, truth = np.asarray(flow.sample(jax.random.key(2), 4000)), banana(rng, 4000)
    np.testing.assert_allclose(samples.mean(axis=0), truth.mean(axis=0), atol=0.2)
    np.testing.assert_allclose(np.cov(samples.T), np.cov(truth.T), atol=0.4)
