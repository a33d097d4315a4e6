"""Attention: along which axis its weights add up to one, and how heads come together again."""

from .reading import found


def test_weights_that_add_up_along_the_queries():
    program = """
    import equinox as eqx

    class Attention(eqx.Module):
        qkv: eqx.nn.Linear

        def __init__(self, dim, key):
            self.qkv = eqx.nn.Linear(dim, 3 * dim, key=key)

        def weights(self, q, k, mask):
            scores = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])
            scores = jnp.where(mask, scores, -1e9)
            return jax.nn.softmax(scores, axis=-2)

        def __call__(self, x, mask):
            q, k, v = jnp.split(jax.vmap(self.qkv)(x), 3, axis=-1)
            return jnp.einsum("hqk,khd->qhd", self.weights(q, k, mask), v)

    def pooled(x, wq, wk):
        x, wq, wk = jnp.ones((5, 4)), jnp.ones((4, 3)), jnp.ones((4, 3))
        weights = jax.nn.softmax((x @ wq) @ (x @ wk).T, axis=0).astype(jnp.float32)
        return weights @ x
    """
    assert found("AX014", program) == [12, 20]


def test_weights_that_are_summed_alone():
    program = """
    def read(scores, values):
        weights = jax.nn.softmax(scores, axis=-1)
        return jnp.einsum("bhqk,bqhd->bqhd", weights, values)
    """
    assert found("AX014", program) == [3]


def test_sums_that_are_meant():
    program = """
    def attention(x, wq, wk, wv):
        q, k, v = x @ wq, x @ wk, x @ wv
        weights = jax.nn.softmax(q @ k.T, axis=-1)
        read = jnp.einsum("qk,kd->qd", weights, v)
        return read, jnp.einsum("qk,kd->q", weights, v), weights @ v

    def chain(logits, start):
        logits = jnp.ones((4, 4))
        forward = jax.nn.softmax(logits, axis=-1)
        backward = jax.nn.softmax(logits, axis=0)
        return start @ forward, backward @ start

    def clusters(nodes, centres, mask):
        assigned = jax.nn.softmax(jnp.where(mask, nodes @ centres, -1e9), axis=-1)
        return jnp.einsum("nk,nd->kd", assigned, nodes)

    def slots(slots, inputs, wq, wk, wv):
        scores = jnp.einsum("sd,nd->sn", slots @ wq, inputs @ wk)
        return jnp.einsum("sn,nd->sd", jax.nn.softmax(scores, axis=0), inputs @ wv)
    """
    assert found("AX014", program) == []


HEADS = """
from einops import einsum, rearrange

def attend(x, w):
    heads = rearrange(x @ w, "b n (h d) -> b h n d", h=4)
    weights = jax.nn.softmax(einsum(heads, heads, "b h q d, b h k d -> b h q k"), axis=-1)
    mixed = einsum(weights, heads, "b h q k, b h k d -> b h q d")
    return rearrange(mixed, "b h q d -> b q ({})")
"""


def test_heads_that_are_merged_in_another_order():
    assert found("AX015", HEADS.format("d h")) == [7]
    assert found("AX015", HEADS.format("h d")) == []


def test_an_order_that_a_pattern_changes_at_once():
    program = """
    from einops import rearrange

    def shuffled(x, w):
        x = rearrange(x, "b (g c) -> b g c", g=4)
        x = rearrange(x, "b g c -> b (c g)")
        return rearrange(x @ w, "b (g c) -> b (c g)", g=4)
    """
    assert found("AX015", program) == []


def test_patterns_that_cannot_hold():
    program = """
    from einops import einsum, rearrange, reduce, repeat

    def wrong(x):
        x = jnp.ones((2, 3, 4))
        flat = rearrange(x, "b c -> c b")
        new = rearrange(x, "b n d -> b n d c")
        return flat, new, einsum(x, jnp.ones((2, 5)), "b n d, b d -> b n")

    def right(x):
        x = jnp.ones((2, 3, 4))
        split = rearrange(x, "b n (h d) -> b h n d 1", h=2)
        many = repeat(x, "b n d -> b (n r) d", r=2)
        least = reduce(x, "b n d -> b 1 d", "min")
        stacked = rearrange([x, x], "s b n d -> b n (s d)")
        return split, many, least, stacked, rearrange(x, "b ... -> ... b")
    """
    assert found("AX201", program) == [5, 6, 7]


def test_weights_of_all_pairs_that_are_added():
    program = """
    def layer(w, x, left, right, adjacency):
        w, x = jnp.ones((4, 6, 8)), jnp.ones((5, 6))
        left, right = jnp.ones((4, 8)), jnp.ones((4, 8))
        h = jnp.einsum("nf,hfd->hnd", x, w)
        one, other = jnp.einsum("hnd,hd->hn", h, left), jnp.einsum("hnd,hd->hn", h, right)
        logits = jax.nn.leaky_relu(one[:, :, None] + other[:, None, :])
        logits = jnp.where(jnp.ones((5, 5), bool), logits, -jnp.inf)
        wrong = jax.nn.softmax(logits, axis=1)
        right = jax.nn.softmax(logits, axis=2)
        return jnp.einsum("hij,hjd->hid", wrong, h) + jnp.einsum("hij,hjd->hid", right, h)
    """
    assert found("AX014", program) == [8]


def test_heads_that_are_not_moved_back():
    program = """
    from flax import nnx

    class Attention(nnx.Module):
        def __init__(self, dim, heads, rngs):
            self.qkv = nnx.Linear(dim, 3 * dim, rngs=rngs)
            self.heads = heads

        def __call__(self, x, mask):
            b, t, d = x.shape
            q, k, v = (
                it.reshape(b, t, self.heads, d // self.heads).transpose(0, 2, 1, 3)
                for it in jnp.split(self.qkv(x), 3, axis=-1)
            )
            scores = q @ k.transpose(0, 1, 3, 2) / jnp.sqrt(d // self.heads)
            least = jnp.finfo(scores.dtype).min
            scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, least)
            mixed = jax.nn.softmax(scores, axis=-1) @ v
            right = mixed.transpose(0, 2, 1, 3).reshape(b, t, d)
            return right + mixed.reshape(b, t, d)
    """
    assert found("AX003", program) == [19]


def test_an_axis_from_the_front_where_only_the_einsum_tells_how_many_there_are():
    program = """
    import flax.linen as nn

    class Read(nn.Module):
        heads: int

        @nn.compact
        def __call__(self, slots, inputs, valid):
            q = nn.DenseGeneral((self.heads, 8))(slots)
            k, v = (nn.DenseGeneral((self.heads, 8))(inputs) for _ in range(2))
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(self.heads)
            scores = jnp.where(valid[:, None, None, :], scores, -1e9)
            return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores, axis=2), v)
    """
    assert found("AX014", program) == [12]
    assert found("AX014", program.replace("axis=2", "axis=3")) == []


def test_patches_that_come_apart_in_another_order():
    program = """
    from einops import rearrange
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.mix = nnx.Linear(12, 12, rngs=rngs)

        def __call__(self, images):
            x = rearrange(images, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2)
            return rearrange(self.mix(x), "b (w h) (p q c) -> b (h p) (w q) c", h=4, p=2, q=2)
    """
    assert found("AX015", program) == [10]
    assert found("AX015", program.replace("(w h)", "(h w)")) == []


def test_patches_that_are_shuffled_on_purpose():
    program = """
    from einops import rearrange

    def shuffled(x):
        return rearrange(rearrange(x, "b g c -> b (g c)"), "b (c g) -> b g c", g=4)
    """
    assert found("AX015", program) == []


APART = """
def drawn(x, first, second):
    query, key = jnp.einsum("btd,dhe->bthe", x, first), jnp.einsum("btd,dhe->bthe", x, second)
    return jnp.einsum("bqhe,bkhe->bhqk", query, key) / 4.0
"""


def test_heads_that_compete_with_each_other():
    program = f"""{APART}
def summed(x, first, second, third):
    values = jnp.einsum("btd,dhe->bthe", x, third)
    weights = jax.nn.softmax(drawn(x, first, second), axis=1)
    return jnp.einsum("bhqk,bkhe->bqhe", weights, values)

def multiplied(x, first, second, third):
    batch, steps, _ = x.shape
    heads = lambda w: (x @ w).reshape(batch, steps, 4, -1).swapaxes(1, 2)
    weights = jax.nn.softmax(heads(first) @ heads(second).swapaxes(-1, -2), axis=1)
    return weights @ heads(third)
"""
    assert found("AX014", program) == [7, 13]


def test_heads_that_are_apart_and_experts_that_compete():
    program = f"""{APART}
def summed(x, first, second, third):
    values = jnp.einsum("btd,dhe->bthe", x, third)
    weights = jax.nn.softmax(drawn(x, first, second), axis=-1)
    return jnp.einsum("bhqk,bkhe->bqhe", weights, values)

def mixed(x, gates, experts):
    weights = jax.nn.softmax(x @ gates, axis=-1)
    return jnp.einsum("te,tef->tf", weights, jnp.einsum("td,edf->tef", x, experts))

def dispatched(x, slots, w):
    weights = jax.nn.softmax(jnp.einsum("btd,des->btes", x @ w, slots), axis=1)
    return jnp.einsum("btes,btd->besd", weights, x)
"""
    assert found("AX014", program) == []
