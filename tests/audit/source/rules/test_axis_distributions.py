"""Chances and weights: along which axis they add up to one, and what they are divided by."""

from .reading import found


def test_chances_over_the_batch_that_actions_are_drawn_from():
    program = """
    def chances(w, obs):
        return jax.nn.softmax(obs @ w, axis=0)

    def act(w, obs, key):
        return jax.random.categorical(key, jnp.log(chances(w, obs) + 1e-8), axis=-1)

    def entry(w, obs, key):
        return act(w, obs, key)

    def inputs():
        return jnp.ones((3, 2)), jnp.ones((5, 3)), jax.random.key(0)
    """
    assert found("AX014", program) == [2]
    assert found("AX014", program.replace("axis=0", "axis=1")) == []


def test_an_entropy_along_another_axis():
    program = """
    def entropy(logits):
        logits = jnp.ones((5, 3))
        log_p = jax.nn.log_softmax(logits, axis=0)
        return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)
    """
    assert found("AX014", program) == [3]
    assert found("AX014", program.replace("axis=0", "axis=1")) == []


def test_weights_of_particles_of_which_a_map_takes_the_axis_away():
    program = """
    from jax.scipy.special import logsumexp

    def resampled(key, weights):
        points = (jnp.arange(4) + jax.random.uniform(key)) / 4
        return jnp.searchsorted(jnp.cumsum(weights), points)

    def entry(keys, log_w):
        log_w = log_w - logsumexp(log_w, axis=0, keepdims=True)
        return jax.vmap(resampled)(keys, jnp.exp(log_w))

    def inputs():
        return jax.random.split(jax.random.key(0), 3), jnp.ones((3, 4))
    """
    assert found("AX014", program) == [8]
    assert found("AX014", program.replace("axis=0", "axis=1")) == []


def test_logits_that_nothing_has_normalised():
    program = """
    def act(w, obs, key):
        logits = jnp.ones((5, 3)) - jnp.max(jnp.ones((5, 3)), axis=0, keepdims=True)
        return jax.random.categorical(key, logits)

    def assigned(x, centres):
        x, centres = jnp.ones((5, 3)), jnp.ones((4, 3))
        share = jax.nn.softmax(x @ centres.T, axis=0)
        return jnp.sum(share * x[:, :1], axis=1)
    """
    assert found("AX014", program) == []


def test_a_mean_of_each_that_is_divided_by_all():
    program = """
    def pooled(vectors, valid):
        weights = valid.astype(jnp.float32)
        total = jnp.einsum("btd,bt->bd", vectors, weights)
        return total / (weights.sum() + 1e-6)

    def entry(vectors, valid):
        return pooled(vectors, valid)

    def inputs():
        return jnp.ones((4, 5, 3)), jnp.ones((4, 5), bool)
    """
    assert found("AX018", program) == [4]
    assert found("AX018", program.replace("sum()", "sum(1, keepdims=True)")) == []


def test_shares_of_a_mean_over_all():
    program = """
    def loss(losses, mask):
        losses, mask = jnp.ones((4, 5)), jnp.ones((4, 5))
        each = jnp.sum(losses * mask, axis=1) / jnp.maximum(mask.sum(), 1.0)
        return each.sum()

    def mean(losses, mask):
        losses, mask = jnp.ones((4, 5)), jnp.ones((4, 5))
        return jnp.sum(losses * mask) / mask.sum()

    def marginal(joint):
        joint = jnp.ones((4, 5))
        return joint.sum(axis=1) / joint.sum()
    """
    assert found("AX018", program) == []


def test_vectors_that_share_one_length():
    program = """
    class Matcher:
        def unit(self, x):
            return x / (jnp.linalg.norm(x) + 1e-6)

        def logits(self, params, images, texts):
            a, b = self.unit(images @ params["image"]), self.unit(texts @ params["text"])
            return jnp.einsum("id,jd->ij", a, b)

    def entry(params, images, texts):
        return Matcher().logits(params, images, texts)

    def inputs():
        params = {"image": jnp.ones((4, 3)), "text": jnp.ones((5, 3))}
        return params, jnp.ones((7, 4)), jnp.ones((7, 5))
    """
    assert set(found("AX019", program)) == {3}
    assert found("AX019", program.replace("norm(x)", "norm(x, axis=-1, keepdims=True)")) == []


def test_a_matrix_that_is_made_orthogonal_and_two_that_are_compared_as_a_whole():
    program = """
    def orthogonal(x):
        x = jnp.ones((4, 3))
        x = x / jnp.linalg.norm(x)
        return 1.5 * x - 0.5 * (x @ x.T) @ x

    def alignment(a, b):
        a, b = jnp.ones((4, 4)), jnp.eye(4)
        return jnp.sum(a / jnp.linalg.norm(a) * (b / jnp.linalg.norm(b)))
    """
    assert found("AX019", program) == []
