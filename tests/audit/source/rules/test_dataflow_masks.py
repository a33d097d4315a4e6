"""Means, deviations and softmaxes of what is masked."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a draw beside the mask that was made for it": """
        def act(key, w, x, legal):
            scores = x @ w
            allowed = jnp.where(legal, scores, jnp.finfo(scores.dtype).min)
            drawn = jax.random.categorical(key, scores)  # DF128
            return drawn, jax.nn.log_softmax(allowed)
        """,
    "what is written down after it was set to zero": """
        def by_methods(total, last, over):
            total = jnp.logical_not(over)[:, None].astype(jnp.float32) * total
            return total, jax.lax.select(over[:, None], total, last)  # DF123

        def on_the_other_side(x, keep, y):
            x = x * keep
            return jnp.where(keep, y, x)  # DF123
        """,
    "a mean in a helper, of a mask made elsewhere": """
        def average(values, weights):
            return jnp.mean(values * weights[..., None])  # DF109

        def loss(params, batch):
            errors = (batch["x"] @ params - batch["y"]) ** 2
            return average(errors, batch["valid"].astype(jnp.float32))
        """,
    "a mask that a helper applies, or that comes after the draw": """
        def allowed(scores, legal):
            return jnp.where(~legal, -1e9, scores)

        class Policy:
            def draw(self, key, scores):
                return jax.random.categorical(key, scores)  # DF128

            def act(self, key, w, x, legal):
                scores = x @ w
                chances = jax.nn.log_softmax(allowed(scores, legal))
                return self.draw(key, scores), chances

        def act(key, scores, legal):
            drawn = jax.random.categorical(key, scores)  # DF128
            return drawn, jax.nn.log_softmax(jnp.select([legal], [scores], -1e9))
        """,
    "a choice, and a method": """
        def loss(errors, is_pad):
            return jnp.where(~is_pad, errors, 0.0).mean()  # DF109

        def other(errors, padding_mask):
            kept = jnp.where(padding_mask, errors, 0.0)
            return kept.mean(axis=-1)  # DF109
        """,
    "standardised, then masked": """
        def advantages(returns, values, mask):
            raw = returns - values
            scaled = (raw - raw.mean()) / (raw.std() + 1e-8)  # DF109
            return jnp.sum(scaled * mask) / mask.sum()
        """,
    "a stretch of a mask": """
        def loss(logits, tokens, mask):
            errors = (logits[:, :-1] - tokens[:, 1:]) ** 2
            return jnp.mean(errors * mask[:, 1:])  # DF109
        """,
    "attention that forgets some": """
        def attend(q, k, v, valid):
            weights = jax.nn.softmax(q @ k.T) * valid  # DF110
            return weights @ v

        def as_if_logits(q, k, v, mask):
            weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k), axis=-1)
            weights = jnp.where(mask[:, None], weights, -1e9)  # DF110
            return jnp.einsum("bhqk,bkhd->bqhd", weights, v)
        """,
    "a mean of an empty segment": """
        def pooled(x, ids, n):
            total = jax.ops.segment_sum(x, ids, n)
            count = jax.ops.segment_sum(jnp.ones_like(ids), ids, num_segments=n)
            return total / count.astype(x.dtype)[..., None]  # DF201

        def histogram(x, ids):
            return x / jnp.bincount(ids, length=8)  # DF201

        def of_others(x, ids, others, n):
            total = jax.ops.segment_sum(x, ids, n)
            count = jax.ops.segment_sum(jnp.ones_like(x), ids, n)
            return (total / count)[others]  # DF201
        def centres(x, ids):
            ids = ids.reshape(-1)
            member = jax.nn.one_hot(ids, 4)
            is_in = (ids[:, None] == jnp.arange(4)).astype(jnp.float32)
            mean = (member.T @ x) / member.sum(axis=0)[:, None]  # DF201
            return mean, x / is_in.sum(0)  # DF201
        """,
}

RIGHT = {
    "draws without replacement, and from what is masked only if there is a mask": """
        def two(key, scores):
            first = jax.random.categorical(jax.random.fold_in(key, 0), scores)
            left = jnp.where(jnp.arange(5) == first, -jnp.inf, scores)
            return first, jax.nn.log_softmax(left)

        def act(key, scores, legal):
            if legal is None:
                return jax.random.categorical(key, scores), None
            return None, jax.nn.log_softmax(jnp.where(legal, scores, -1e9))
        """,
    "a draw from what is masked, and one before there is a mask": """
        def act(key, w, x, legal):
            scores = x @ w
            first = jax.random.categorical(jax.random.fold_in(key, 0), scores)
            allowed = jnp.where(legal, scores, jnp.finfo(scores.dtype).min)
            second = jax.random.categorical(jax.random.fold_in(key, 1), allowed)
            return first, second
        """,
    "logits that get a number far below zero, and shares of what a stretch of a mask leaves": """
        def attend(q, k, v, mask):
            logits = jnp.where(mask[:, None], jnp.einsum("bqhd,bkhd->bhqk", q, k), -1e9)
            return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits, axis=-1), v)

        def loss(logits, tokens, mask):
            kept = mask[:, 1:]
            return jnp.mean((logits[:, :-1] - tokens[:, 1:]) ** 2 * kept) / jnp.mean(kept)
        """,
    "a mean that each element gets of its own segment": """
        def smoothed(x, ids, n):
            total = jax.ops.segment_sum(x, ids, n)
            count = jax.ops.segment_sum(jnp.ones_like(x), ids, n)
            return (total / count)[ids] + jnp.take(total / jnp.bincount(ids, length=n), ids)
        """,
    "statistics of what has no padding": """
        def entry(rewards, values, lengths):
            mask = jnp.arange(values.shape[1]) < lengths[:, None]
            centred = (rewards - rewards.mean()) / rewards.std()
            return jnp.sum(centred[:, None] * mask * values) / mask.sum()

        def by_steps(rewards, values, mask):
            centred = rewards - rewards.mean()
            return jnp.sum(centred[None] * mask * values) / mask.sum()

        def inputs():
            return jnp.ones(3), jnp.ones((3, 5)), jnp.array([2, 5, 1])
        """,
    "what is zero where it is not chosen": """
        def twice(x, keep, y):
            return jnp.where(keep, x * keep, y), jnp.where(keep, y, x * (1 - keep))

        def by_another(x, keep, other, y):
            return jnp.where(keep, x * (1 - other), y), jnp.where(keep, x * (2 - keep), y)
        """,
    "divided by what is there": """
        def by_share(x, mask):
            return jnp.mean(x * mask) / jnp.mean(mask)

        def by_weight(x, mask):
            weight = mask / mask.mean()
            return jnp.mean(x * weight)

        def by_count(x, mask):
            return jnp.mean(x, where=mask) + jnp.sum(x * mask) / jnp.maximum(mask.sum(), 1.0)

        def by_chance(key, x):
            mask = jax.random.bernoulli(key, 0.5, x.shape)
            return jnp.mean(x * mask)

        def weighted(x, importance):
            return jnp.mean(x * importance)
        """,
    "centred by what is there": """
        def centred(y, mask):
            y = (y - jnp.mean(y, where=mask.astype(bool))) * mask
            return y.std(), (y * mask).mean(where=mask)
        """,
    "the share of a region in the whole": """
        import numpy as onp

        def quadrant_mask(shape):
            ones, zeros = jnp.ones((shape[0] // 2, shape[1])), jnp.zeros((shape[0] // 2, shape[1]))
            return jnp.stack([jnp.concatenate([ones, zeros]), jnp.concatenate([zeros, ones])])

        def inner_mask(shape, pitch, width):
            x, y = onp.meshgrid(onp.arange(shape[0]) * pitch, onp.arange(shape[1]) * pitch)
            return (x >= width) & (y >= width) & (x < pitch - width)

        def shares(flux, spec, shape):
            mask = quadrant_mask(shape)
            total_flux = jnp.mean(mask * flux, axis=(-2, -1))
            monitor_mask = inner_mask(shape, spec.pitch, spec.width)
            inside = jnp.where(monitor_mask, flux, 0.0)
            return total_flux, inside.mean()
        """,
    "a share of what is in a group": """
        def coverage(scores, groups, n):
            levels = jnp.arange(n) / n
            covered = (scores <= levels) * groups
            return jnp.where(jnp.mean(groups) > 0, jnp.mean(covered) / jnp.mean(groups), 0.0)
        """,
    "a part of each picture": """
        def through_quadrant(flux):
            rows, columns = flux.shape[-2] // 2, flux.shape[-1] // 2
            ones, zeros = jnp.ones((rows, columns)), jnp.zeros((rows, columns))
            pixel_mask = jnp.block([[ones, zeros], [zeros, zeros]])
            return jnp.mean(pixel_mask * flux, axis=(-2, -1))
        """,
    "each row on its own, and masked": """
        def layer_norm(x, mask):
            centred = x - x.mean(axis=-1, keepdims=True)
            return centred * mask[..., None]
        """,
    "a softmax that knows": """
        def attend(q, k, v, mask):
            weights = jax.nn.softmax(jnp.where(mask, q @ k.T, -1e9))
            return jnp.where(mask, weights, 0.0) @ v

        def renormalised(scores, mask):
            weights = jax.nn.softmax(scores) * mask
            return weights / weights.sum(axis=-1, keepdims=True)

        def largest(scores, k):
            chances = jax.nn.softmax(scores)
            top_mask = chances >= jax.lax.top_k(chances, k)[0][..., -1:]
            return chances * top_mask

        def rows(scores, mask):
            return jax.nn.softmax(scores) * mask[:, None]
        """,
    "segments that have one at least": """
        def spread(x, ids):
            member = jax.nn.one_hot(ids.reshape(-1), 4)
            turns = jax.nn.one_hot(jnp.arange(8) % 4, 4)
            safe = (member.T @ x) / jnp.maximum(member.sum(axis=0), 1.0)[:, None]
            return safe, x / member.sum(axis=-1)[:, None], x / turns.sum(axis=0)

        def pooled(x, ids, n):
            count = jax.ops.segment_sum(jnp.ones_like(ids), ids, n)
            total = jax.ops.segment_sum(x, ids, n)
            chosen = jnp.where(count > 0, total / count, 0.0)
            return total / jnp.maximum(count, 1), total / (count + 1e-6), chosen
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")
