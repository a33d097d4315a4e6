"""Numbers that mean something else than what is computed with them."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "bytes that are added up or put together": """
        def totals(frames, owners):
            total = lax.reduce(frames, jnp.uint8(0), lax.add, (0,))  # DF202
            each = jax.ops.segment_sum(frames, owners, 4)  # DF202
            return total / 9, each / 9, frames * 256 + 1  # DF202

        def entry(n, owners):
            return totals(jnp.zeros((9, 4), jnp.uint8) + n.astype(jnp.uint8), owners)
        """,
    "numbers that are cut off where an operation is infinite": """
        def unsquashed(action):
            return jnp.arctanh(jnp.clip(action, -1.0, 1.0))  # DF201

        def entropy(x):
            share = jnp.clip(x, 0.0, 1.0)
            return -jnp.sum(share * jnp.log(share))  # DF201
        """,
    "a flag as a number, bit by bit": """
        def alive(done):
            return ~(done > 0).astype(jnp.int8)  # DF209

        def weights(steps, last):
            late = (steps > last).astype(jnp.uint8)
            return jnp.invert(late) * 0.5  # DF209
        """,
    "squares of short integers": """
        def energy(n):
            frames = jnp.zeros((4, 16), jnp.int16) + n.astype(jnp.int16)
            return jnp.sum((frames * frames).astype(jnp.float32))  # DF202
        """,
    "the angle of two vectors by a cosine as it is": """
        def unit(v):
            return v / jnp.linalg.norm(v, axis=-1, keepdims=True)

        def bends(x):
            steps = unit(x[1:] - x[:-1])
            return jnp.arccos(jnp.sum(steps[1:] * steps[:-1], axis=-1))  # DF201

        def angle(a, b):
            return jnp.arccos(jnp.dot(a, b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b)))  # DF201
        """,
    "counts in bins of given edges": """
        def entropy(x, edges):
            counts, _ = jnp.histogram(x, bins=edges)
            share = counts / counts.sum()
            return -jnp.sum(share * jnp.log(share))  # DF201
        """,
    "integers that are too short for what they are to become": """
        def progress(updates, per_update):
            steps = updates * 4096  # DF202
            return jnp.clip(steps / 5.0e9, 0.0, 1.0)

        def phase(minutes):
            return (minutes * jnp.int16(1000)).astype(jnp.float32)  # DF202

        def entry(n):
            minutes = jnp.zeros(4, jnp.int16) + n.astype(jnp.int16)
            return progress(n.astype(jnp.int32), 3), phase(minutes)
        """,
    "bytes that are negated, squared, or compared with the ones before": """
        def changes(frames):
            small = frames.astype(jnp.uint8)
            steps = jnp.diff(small, axis=0)  # DF202
            darker = -small  # DF202
            return steps.sum(), darker.astype(jnp.float32), (small * small).mean()  # DF202
        """,
    "what is divided by the squared distance of each to itself": """
        def energy(points):
            apart = ((points[:, None] - points[None]) ** 2).sum(-1)
            return (apart**-6 - apart**-3).sum()  # DF201

        def pull(points):
            offset = jnp.subtract(points[:, None], points[None])
            return (offset / jnp.square(offset).sum(-1, keepdims=True)).sum(1)  # DF201
        """,
    "a mask as numbers, times minus infinity": """
        def attend(logits, mask, lengths):
            bias = (1.0 - mask[:, None, :]) * -jnp.inf  # DF207
            late = jnp.arange(8) >= lengths[:, None]
            return logits + bias - late.astype(jnp.float32)[:, None] * jnp.inf  # DF207
        """,
    "a small number inside of the deviation of a method": """
        def standardise(x):
            spread = (x + 1e-8).std(axis=0)  # DF208
            return (x - x.mean(axis=0)) / spread
        """,
    "probabilities for logits": """
        import flax.linen as nn
        import distrax

        def loss(params, x, labels):
            out = nn.softmax(x @ params)
            return optax.softmax_cross_entropy(logits=out, labels=labels).mean()  # DF102

        def act(key, params, x):
            chances = jax.nn.softmax(x @ params, axis=-1)
            return jax.random.categorical(key, chances)  # DF102

        def gate(x):
            keep = jax.nn.sigmoid(x)
            return optax.sigmoid_binary_cross_entropy(keep, jnp.ones_like(x))  # DF102
        """,
    "whitened by caller and callee": """
        def whiten(stats, x):
            return (x - stats.mean) / (stats.std + 1e-6)

        def critic(params, stats, obs):
            return whiten(stats, obs) @ params  # DF103

        @jax.jit
        def value(params, stats, obs):
            obs = whiten(stats, obs)
            return critic(params, stats, obs)  # DF103

        def pixels(x):
            return x / 255.0

        @jax.jit
        def model(w, image):
            return pixels(pixels(image)) @ w  # DF103
        """,
    "halves in an array of indices": """
        def mark(labels, weights):
            table = jnp.arange(4)
            half = table.at[0].set(0.5)  # DF204
            return half, jnp.zeros(4, jnp.int32).at[labels].add(jnp.ones(3) * 0.3)  # DF204
        """,
    "a head that gives probabilities, in a module that is set up": """
        import flax.linen as nn

        class Head(nn.Module):
            classes: int

            @nn.compact
            def __call__(self, hidden):
                return nn.softmax(nn.Dense(self.classes)(hidden))

        class Net(nn.Module):
            def setup(self):
                self.head = Head(4)

            def __call__(self, x):
                return self.head(nn.relu(x))

        def loss(params, x, labels):
            scores = Net().apply(params, x)
            losses = optax.softmax_cross_entropy_with_integer_labels(scores, labels)  # DF102
            return losses.mean()
        """,
    "the entropy of choices of which some are masked": """
        class Choice:
            def __init__(self, scores, legal):
                self.legal = legal
                self.scores = jnp.where(legal, scores, -1e9)

            def entropy(self):
                p = jax.nn.softmax(self.scores)
                return -(p * jnp.log(p)).sum(-1)  # DF201

        def bonus(w, x, legal):
            return Choice(x @ w, legal).entropy().mean()
        """,
    "logarithms of what saturates": """
        def log_density(mean, noise):
            action = jnp.tanh(mean + noise)
            return -0.5 * noise**2 - jnp.log(1.0 - action**2)  # DF206

        def likelihood(w, x, labels):
            p = jax.nn.sigmoid(x @ w)
            return (labels * jnp.log(p)).mean()  # DF206
        """,
    "differences of frames that are bytes": """
        def motion(video):
            frames = jnp.asarray(video, dtype=jnp.uint8)
            change = frames[1:] - frames[:-1]  # DF202
            return jnp.abs(change).astype(jnp.float32).mean()
        """,
    "the smaller of one estimate, in two helpers": """
        def estimates(nets, x):
            one = jnp.tanh(x @ nets["first"])[..., 0]
            two = jnp.tanh(x @ nets["first"])[..., 0]  # DF108
            return one, two

        def target(nets, x, reward):
            one, two = estimates(nets, x)
            return reward + 0.99 * jnp.minimum(one, two)
        """,
    "probabilities with zeros, divided": """
        def entropy(logits, allowed):
            p = jnp.where(allowed, jax.nn.softmax(logits), 0.0)
            p = p / p.sum(-1, keepdims=True)
            return -jnp.sum(p * jnp.log(p), axis=-1)  # DF201
        """,
    "a deviation from moving averages": """
        def follow(rows, rate):
            def step(moments, row):
                first, second = moments
                first = (1 - rate) * first + rate * row
                second = second * (1 - rate) + rate * row * row
                return (first, second), row / jnp.sqrt(second - first**2)  # DF201

            return lax.scan(step, (rows[0], rows[0] ** 2), rows)
        """,
    "bytes that are contracted in bytes": """
        def product(x, w):
            codes, weights = x.astype(jnp.int8), w.astype(jnp.int8)
            numbers = (((1,), (0,)), ((), ()))
            return lax.dot_general(codes, weights, numbers).astype(jnp.float32)  # DF202
        """,
    "the entropy of counts": """
        def entropy(share):
            return -jnp.sum(share * jnp.log(share))  # DF201

        def information(left, right, n):
            counts = jnp.zeros((n, n)).at[left, right].add(1.0)
            joint = counts / counts.sum()
            return entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint)

        def spread(labels):
            share = jnp.bincount(labels, length=8) / labels.shape[0]
            return jnp.sum(share * jnp.log2(share))  # DF201
        """,
    "running sums of bytes in bytes": """
        def table(image):
            codes = jnp.round(image * 255).astype(jnp.uint8)
            return jnp.cumsum(codes, axis=0)  # DF202
        """,
    "windows of what is normalised, normalised again": """
        def whiten(stats, x):
            return (x - stats["mean"]) / stats["std"]

        def model(w, stats, window):
            return whiten(stats, window) @ w  # DF103

        @jax.jit
        def forecast(w, stats, series):
            series = whiten(stats, series)
            starts = jnp.arange(5)
            windows = jax.vmap(lambda at: lax.dynamic_slice_in_dim(series, at, 4))(starts)
            return jax.vmap(lambda it: model(w, stats, it))(windows)  # DF103
        """,
}

RIGHT = {
    "the largest of bytes, and a mask as a picture": """
        def shown(frames):
            return lax.reduce(frames, jnp.uint8(0), lax.max, (0,)), (frames > 3) * jnp.uint8(255)

        def entry(n):
            return shown(jnp.zeros((9, 4), jnp.uint8) + n.astype(jnp.uint8))
        """,
    "numbers that are cut off a little earlier": """
        def unsquashed(action):
            cut = jnp.clip(action, 1e-6, 1.0)
            return jnp.arctanh(jnp.clip(action, -0.999, 0.999)), jnp.log(cut)
        """,
    "flags that are turned round as flags, and bits that are masked": """
        def alive(done, word):
            flags = done.astype(jnp.int8)
            return (~(done > 0)).astype(jnp.float32) + (~flags & 1), ~word.astype(jnp.uint32)
        """,
    "the angle of two vectors by a cosine that is cut off, or by both sides": """
        def unit(v):
            return v / jnp.linalg.norm(v, axis=-1, keepdims=True)

        def bends(x):
            steps = unit(x[1:] - x[:-1])
            cosine = jnp.sum(steps[1:] * steps[:-1], axis=-1)
            return jnp.arccos(jnp.clip(cosine, -1.0, 1.0)), jnp.arccos(x.mean())
        """,
    "integers that are made shares of their range, or floats before": """
        def share(bits):
            mixed = bits.astype(jnp.uint32) * 747796405
            return mixed / 4294967296.0

        def progress(updates):
            return updates.astype(jnp.float32) * 4096 / 5.0e9, updates.astype(jnp.int32) * 4 / 1e6

        def phase(minutes):
            return minutes.astype(jnp.int16) * jnp.int16(2)
        """,
    "bytes of which the lowest bit is taken, and integers that hold what is computed": """
        def bits(frames, counts):
            small, wide = frames.astype(jnp.uint8), counts.astype(jnp.int32)
            return small & -small, -wide, wide * wide, jnp.diff(wide)
        """,
    "distances that are kept from zero, or of others": """
        def energy(points, others):
            apart = ((points[:, None] - points[None]) ** 2).sum(-1) + jnp.eye(4)
            across = ((points[:, None] - others[None]) ** 2).sum(-1)
            bare = 1.0 / ((points[:, None] - points[None]) ** 2).sum(-1)
            kept = jnp.where(jnp.eye(4) > 0, 0, bare)
            return (apart**-6).sum() + (1.0 / across).sum() + kept.sum()
        """,
    "the entropy of counts of which none is zero, and of what is added to them": """
        def information(left, right, weights, n):
            counts = jnp.zeros((n, n)).at[left, right].add(1.0)
            safe = jnp.where(counts > 0, counts, 1.0)
            smooth = (counts + 0.5) / (counts.sum() + 0.5 * n * n)
            total = counts.sum()
            kept = jnp.full((n, n), 1e-3).at[left, right].add(weights)
            return (
                jnp.sum(counts * jnp.log(safe)),
                jnp.sum(smooth * jnp.log(smooth)),
                total * jnp.log(total),
                jnp.sum(kept * jnp.log(kept)),
                jnp.log(counts),
            )
        """,
    "sums of bytes in wider numbers, and counts in bytes": """
        def table(image, kept):
            codes = jnp.round(image * 255).astype(jnp.uint8)
            votes = jnp.cumsum((kept > 0).astype(jnp.uint8), axis=0, dtype=jnp.uint8)
            return jnp.cumsum(codes, axis=0, dtype=jnp.int32), codes.sum(), votes
        """,
    "averages of other things, at other rates, or kept from below": """
        def follow(first, second, row, other, rate):
            mean = (1 - rate) * first + rate * row
            slow = 0.99 * second + 0.01 * row**2
            apart = (1 - rate) * second + rate * other**2
            square = (1 - rate) * second + rate * row**2
            kept = jnp.sqrt(jnp.maximum(square - mean**2, 0.0))
            return jnp.sqrt(slow - mean**2), jnp.sqrt(apart - mean**2), kept
        """,
    "bytes that are contracted in wider numbers": """
        def product(x, w):
            codes, weights = x.astype(jnp.int8), w.astype(jnp.int8)
            numbers = (((1,), (0,)), ((), ()))
            return lax.dot_general(codes, weights, numbers, preferred_element_type=jnp.int32)
        """,
    "truth values times infinity, and a shift that is no guard": """
        def mask(x, keep):
            y = x - jnp.inf * (keep > 0)
            return y / (jnp.std(x - 273.15) + 1e-6)
        """,
    "a chance that is zero": """
        def log_prob(value, low):
            return jnp.log(jnp.where(value >= low, 1.0, 0.0))
        """,
    "zeros that are made safe": """
        def entropy(logits, allowed):
            p = jnp.where(allowed, jax.nn.softmax(logits), 0.0)
            p = p / p.sum(-1, keepdims=True)
            return -jnp.sum(p * jnp.log(jnp.where(allowed, p, 1.0)), axis=-1)
        """,
    "the smaller of what two layers give, and of two draws, made alike from one state": """
        from flax import nnx

        class Critic:
            def __init__(self, rngs):
                self.layer = nnx.Linear(4, 1, rngs=rngs)

            def __call__(self, x):
                return jnp.tanh(self.layer(x))

        class Twins:
            def __init__(self, rngs):
                self.one, self.two = Critic(rngs), Critic(rngs)

            def smaller(self, x):
                return jnp.minimum(self.one(x), self.two(x))

        def noises(rngs, items, x):
            one = x + rngs.noise() * next(items)
            two = x + rngs.noise() * next(items)
            return jnp.minimum(one, two)
        """,
    "logarithms of probabilities, and two axes": """
        def act(key, params, x):
            chances = jax.nn.softmax(x @ params)
            return jax.random.categorical(key, jnp.log(chances))

        def sinkhorn(x):
            return jax.nn.softmax(jax.nn.softmax(x, axis=0), axis=1)

        def experts(x):
            top, _ = lax.top_k(jax.nn.softmax(x), 2)
            return jax.nn.softmax(top)
        """,
    "other statistics, other numbers": """
        def whiten(mean, std, x):
            return (x - mean) / std

        def both(a, b, x):
            return whiten(b.mean, b.std, whiten(a.mean, a.std, x))

        def units(x):
            return x / 1000 / 1000
        """,
    "whole numbers, and arrays of floats": """
        def mark(labels, weights):
            table = jnp.arange(4).at[0].set(1.0)
            return jnp.zeros(4).at[labels].add(0.3), table.at[labels].add(weights)
        """,
    "logarithms that are kept from zero": """
        def entropy(scores, legal):
            p = jax.nn.softmax(jnp.where(legal, scores, -jnp.inf))
            safe = jnp.where(legal, p, 1.0)
            plain = jax.nn.softmax(scores)
            late = jnp.where(legal, p * jnp.log(p), 0.0)
            return -(p * jnp.log(safe)).sum(-1) - (plain * jnp.log(plain)).sum() - late.sum()

        def log_density(mean, noise):
            action = jnp.tanh(mean + noise)
            rate = jnp.log(jnp.maximum(mean, 1e-6)) + jnp.log(jax.nn.relu(mean) + 1e-6)
            return rate - jnp.log(1.0 - action**2 + 1e-6) + jnp.log(1.0 - jnp.exp(mean))
        """,
    "differences of bytes that are made wide, signed or bounded": """
        def motion(video, floor):
            frames = jnp.asarray(video, dtype=jnp.uint8)
            wide = frames[1:].astype(jnp.int16) - frames[:-1].astype(jnp.int16)
            signed = (frames[1:] - frames[:-1]).astype(jnp.int8)
            above = jnp.maximum(frames[1:], frames[:-1]) - frames[:-1]
            return wide.sum(), signed, above
        """,
    "the smaller of two estimates, by position and by turn": """
        def target(nets, x, critic):
            one, two = (critic(net, x) for net in nets)
            both = [critic(net, x) for net in nets]
            largest = functools.reduce(jnp.maximum, both)
            highest = jax.tree.reduce(jnp.maximum, jax.tree.map(jnp.max, nets))
            return jnp.minimum(one, two) + jnp.minimum(both[0], both[1]) + largest + highest
        """,
    "a logarithm of a probability that is none, as it should be": """
        def log_cdf(value, scale):
            return jnp.log(jnp.clip(value / scale, 0.0, 1.0))
        """,
    "a masked probability that is cut off above zero": """
        def log_probabilities(scores, legal):
            p = jax.nn.softmax(jnp.where(legal, scores, -1e9))
            return jnp.log(jnp.clip(p, 1e-8, 1.0))
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")
