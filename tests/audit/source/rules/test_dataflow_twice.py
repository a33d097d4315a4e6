"""Values that are changed, taken or joined twice, or with the wrong meaning: found and silent."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a number by its name, in a step and in what goes over all steps": """
        from typing import NamedTuple

        class Config(NamedTuple):
            reward_scale: float = 0.1
            decay: float = 0.9

        def step(config, x):
            return -jnp.sum(x**2) * config.reward_scale

        def summed(config, rewards):
            def back(total, reward):
                total = config.reward_scale * reward + config.decay * total  # DF116
                return total, total

            return lax.scan(back, 0.0, rewards, reverse=True)[1]

        def entry(xs):
            config = Config()
            rewards = jax.vmap(lambda x: step(config, x))(xs)
            return summed(config, rewards)
        """,
    "one of several things in a list, against itself": """
        def lowest(weights, x):
            made = [jnp.tanh(x @ w) for w in weights]
            return jnp.minimum(made[0], made[0])  # DF108
        """,
    "degrees that are made radians twice, by hand and by name": """
        def turned(angles):
            return jnp.deg2rad(angles)  # DF103

        def entry(angles):
            first = angles * jnp.pi / 180.0
            return jnp.sin(turned(first))  # DF103
        """,
    "one end of what others are joined with, and one of two things times itself": """
        def between(nodes, tails, heads, lengths):
            tail = nodes[tails]
            head = nodes[heads]
            return jnp.concatenate([tail, tail, lengths], axis=-1)  # DF108

        def messages(params, nodes, tails, heads, lengths):
            near = jnp.tanh(between(nodes, tails, heads, lengths) @ params)
            return jax.ops.segment_sum(near, heads, nodes.shape[0])

        def both(w, seen, heard):
            return {"seen": jnp.tanh(seen @ w["seen"]), "heard": jnp.tanh(heard @ w["heard"])}

        def alike(made):
            return made["seen"] @ made["seen"].T  # DF108

        def entry(w, seen, heard):
            return jnp.sum(alike(both(w, seen, heard)))
        """,
    "rows of one layer among others, and those of another that nobody reads": """
        class Layer:
            def __init__(self, sent, got, mixed):
                self.sent, self.got, self.mixed = sent, got, mixed

            def messages(self, nodes, bonds, src, dst):
                leaving = jax.nn.silu(nodes @ self.sent)[src]
                coming = jax.nn.silu(nodes @ self.got)[dst]
                joined = jnp.concatenate([leaving, jnp.tanh(bonds), leaving], axis=-1)  # DF108
                return joined @ self.mixed
        """,
    "one of two things twice in a list that is joined later": """
        def entry(w, seen, heard, told):
            made = {"seen": jnp.tanh(seen @ w), "heard": jnp.tanh(heard @ w)}
            parts = [made["seen"], made["seen"]]  # DF108
            return jnp.concatenate(parts + [told], axis=-1)
        """,
    "standardised numbers that are taken back twice": """
        def raw(stats, z):
            return z * stats["std"] + stats["mean"]

        def model(w, stats, z):
            return raw(stats, jnp.tanh(z @ w))

        def entry(w, stats, z):
            out = model(w, stats, z)
            return raw(stats, out)  # DF103
        """,
    "probabilities, where a helper asks for scores, or the scores lie beside them": """
        from typing import NamedTuple

        class Guess(NamedTuple):
            raw: jax.Array
            chance: jax.Array

        def guess(w, x):
            raw = x @ w
            return Guess(raw, jax.nn.softmax(raw))

        def fit(predicted, labels):
            return optax.softmax_cross_entropy_with_integer_labels(predicted, labels).mean()

        def terms(made, labels):
            return fit(made.chance, labels)  # DF102

        def entry(w, x, labels):
            return terms(guess(w, x), labels)

        def draw(key, scores):
            return jax.random.categorical(key, scores)

        def act(key, w, x):
            chance = jax.nn.softmax(x @ w)
            return draw(key, chance)  # DF102
        """,
    "the same by functions, and with annotations": """
        from jax.numpy import stack

        def scale(stats, x):
            return jnp.divide(jnp.subtract(x, stats["mean"]), stats["std"])

        def twice(stats, x):
            first: jax.Array = scale(stats, x)
            return scale(stats, first)  # DF103

        def streams(w, sound, image):
            heard: jax.Array = jnp.tanh(sound @ w)
            seen: jax.Array = jnp.tanh(image @ w)
            return stack([heard, heard])  # DF101
        """,
    "one of two streams is joined with itself": """
        class Streams:
            def __init__(self, weights):
                self.weights = weights

            def __call__(self, sound, image):
                first = jnp.tanh(sound @ self.weights["sound"])
                second = jnp.tanh(image @ self.weights["image"])
                first = first * jax.nn.sigmoid(first)
                gated = first + 1.0
                pooled = gated.mean()
                pooled = pooled * 2
                return jnp.stack([first, first], axis=1) * pooled  # DF101

        def fuse(weights, sound, image):
            made = {
                "sound": jnp.tanh(sound @ weights["sound"]),
                "image": jnp.tanh(image @ weights["image"]),
            }
            return jnp.concatenate([made["sound"], made["sound"]], axis=-1)  # DF108
        """,
    "a mixture of one thing, beside one that nobody reads": """
        def mix(old, new):
            gate = jax.nn.sigmoid(old)
            return gate * old + (1.0 - gate) * old  # DF108

        def entry(w, x, y):
            return mix(x @ w, y @ w)
        """,
    "normalised twice by what is multiplied, with noise and a choice between": """
        def scale(stats, x):
            return (x - stats["mean"]) * lax.rsqrt(stats["var"] + 1e-5)

        def shaken(key, stats, x):
            first = scale(stats, x)
            first = first + 0.1 * jax.random.normal(key, x.shape)
            first = jnp.where(jax.random.bernoulli(key), first[::-1], first)
            return scale(stats, first)  # DF103
        """,
    "pixels that are scaled, shaken and scaled again": """
        def scale(frames):
            return frames.astype(jnp.float32) / 255.0

        def shake(key, frames):
            return jnp.clip(frames + 0.1 * jax.random.normal(key, frames.shape), 0.0, 255.0)

        def encode(w, frames):
            return scale(frames).reshape(frames.shape[0], -1) @ w  # DF103

        @jax.jit
        def embed(key, w, frames):
            small = scale(frames)
            return encode(w, shake(key, small))  # DF103
        """,
    "one of two that are handed to what scales": """
        def scale(stats, x):
            return (x - stats["mean"]) / stats["std"]

        def score(w, stats, x):
            return scale(stats, x) @ w

        @jax.jit
        def compare(w, stats, old, new):
            return score(w, stats, old) - score(w, stats, scale(stats, new))  # DF103
        """,
    "a leaf of one tree joined with itself, and mixed with itself": """
        def merge(old, new):
            return jnp.concatenate([old, old], axis=0)  # DF108

        @jax.jit
        def update(slow, fast, kept, fresh):
            slow = jax.tree.map(lambda s, f: 0.9 * s + 0.1 * s, slow, fast)  # DF108
            return slow, jax.tree.map(merge, kept, fresh)
        """,
    "a logarithm of chances to which a chance is added": """
        def ahead(start, moves, seen):
            step = jax.nn.softmax(moves, axis=-1)

            def turn(belief, emitted):
                moved = jax.nn.logsumexp(belief[:, None] + step, axis=0)  # DF102
                return moved + emitted, None

            first = jax.nn.log_softmax(start) + seen[0]
            return lax.scan(turn, first, seen[1:])[0]
        """,
    "an action that is brought between the limits twice": """
        class Arm:
            def __init__(self, low, high):
                self.low, self.high = low, high

            def unscale(self, action):
                return (self.high - self.low) * (action + 1.0) / 2.0 + self.low

            def step(self, state, action):
                return state + 0.1 * self.unscale(action)  # DF103

        @jax.jit
        def control(arm: Arm, w, state):
            torque = arm.unscale(jnp.tanh(state @ w))
            return arm.step(state, torque)  # DF103
        """,
    "the ratio of a probability and a logarithm": """
        def chosen(table, actions):
            return jnp.take_along_axis(table, actions[:, None], axis=1).squeeze(1)

        def ratio(logits, old_logits, actions):
            now = chosen(jax.nn.softmax(logits), actions)
            before = chosen(jax.nn.log_softmax(old_logits), actions)
            return jnp.exp(now - before)  # DF102
        """,
    "one of two results joined with itself": """
        def read(p, x):
            def cell(h, row):
                h = jnp.tanh(row @ p["w"] + h @ p["u"])
                return h, h

            return lax.scan(cell, jnp.zeros(4), x)

        def both_ways(params, x):
            end, ahead = read(params["ahead"], x)
            start, behind = read(params["behind"], x[::-1])
            return jnp.stack([ahead, ahead], axis=1), end + start  # DF108
        """,
    "a deviation from two means": """
        def deviation(x, axis):
            mean = x.mean(axis=axis)
            return jnp.sqrt(jnp.mean(jnp.square(x), axis=axis) - mean * mean)  # DF201
        """,
    "a deviation from sums": """
        def deviation(total, squares, count):
            mean = total / count
            return 1.0 / lax.rsqrt(squares / count - mean**2)  # DF201
        """,
    "a weighted mean of each segment": """
        def pooled(x, weights, owner, n):
            total = jax.ops.segment_sum(x * weights[:, None], owner, n)
            return total / jax.ops.segment_sum(weights, owner, n)[:, None]  # DF201
        """,
    "bytes that are added up in bytes": """
        def product(x: jax.Array, w):
            codes = jnp.round(x).astype(jnp.int8)
            weights = jnp.round(w).astype(jnp.int8)
            return jnp.matmul(codes, weights).astype(jnp.float32)  # DF202

        def occupied_before(x: jax.Array, sites):
            codes = jnp.round(x).astype(jnp.int8)
            before = (jnp.arange(x.shape[-1]) < sites[:, None]).astype(jnp.int8)
            return jnp.einsum("j,ij->i", codes, before)

        def blended(one, other):
            first, second = one.astype(jnp.uint8), other.astype(jnp.uint8)
            return (first + second) // 2  # DF202
        """,
    "a transform that is given its own result": """
        def squashed(x):
            return jnp.sign(x) * (jnp.sqrt(jnp.abs(x) + 1.0) - 1.0)

        def loss(w, batch):
            return jnp.mean((batch["obs"] @ w - squashed(batch["reward"])) ** 2)  # DF103

        @jax.jit
        def update(w, obs, reward):
            batch = {"obs": obs, "reward": squashed(reward)}
            return loss(w, batch)  # DF103
        """,
    "a quotient that is taken twice, by the same deviation": """
        def in_units(stats, x):
            return x / jnp.sqrt(stats["var"] + 1e-8)

        @jax.jit
        def target(stats, reward, value):
            reward = in_units(stats, reward)
            return in_units(stats, reward) + value  # DF103
        """,
    "probabilities of an ensemble at another temperature": """
        def soft(scores):
            return jax.nn.softmax(scores / 2.0)

        @jax.jit
        def teach(scores, student):
            mean = soft(scores).mean(axis=0)
            return jnp.sum(soft(mean) * jax.nn.log_softmax(student))  # DF102
        """,
    "directions to all others and to itself": """
        def directions(x):
            offset = x[:, None, :] - x[None, :, :]
            far = jnp.sqrt(jnp.sum(offset**2, axis=-1))
            return offset / far[..., None]  # DF201
        """,
    "means of what a loop has not seen yet": """
        def averages(rows):
            def step(state, row):
                total, count = state
                mean = total / count  # DF201
                return (total + row, count + 1.0), mean

            return lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), rows)
        """,
    "bytes less their middle": """
        def centred(x):
            return (x.astype(jnp.uint8) - 128).astype(jnp.float32)  # DF202
        """,
    "one of two parts where both are asked for": """
        from typing import NamedTuple

        class Affine(NamedTuple):
            scale: jax.Array
            shift: jax.Array

        def parts(w, text):
            scale, shift = jnp.split(jnp.tanh(text @ w), 2, axis=-1)
            return scale, shift

        def modulated(w, x, text):
            scale, shift = parts(w, text)
            affine = Affine(1.0 + scale, scale)  # DF108
            return x * affine.scale + affine.shift

        def inline(w, x, text):
            scale, shift = parts(w, text)
            return x * (1.0 + scale) + scale  # DF108
        """,
    "one view in the place of two": """
        def encode(w, x):
            return jnp.tanh(x @ w)

        def loss(w, target, one, two):
            query = encode(w, one)
            value = encode(target, one)  # DF108
            return jnp.mean((query - value) ** 2)

        @jax.jit
        def update(w, target, x, key):
            left, right = jax.random.split(key)
            one = x + jax.random.normal(left, x.shape)
            two = x + jax.random.normal(right, x.shape)
            return loss(w, target, one, two)
        """,
}

RIGHT = {
    "two numbers of one value by other names, and one that both terms have": """
        def entry(x, reward_scale=0.1, penalty_scale=0.1):
            def term(it):
                return it * reward_scale

            return penalty_scale * term(x) + reward_scale * x
        """,
    "degrees that are made radians once each, and a sum of them": """
        def entry(here, there):
            return jnp.sin(jnp.deg2rad(here - there)) + jnp.deg2rad(there) * jnp.pi / 90.0
        """,
    "both ends of what others are joined with, and a matrix of one thing": """
        def between(nodes, tails, heads, lengths):
            tail, head = nodes[tails], nodes[heads]
            pad = jnp.zeros_like(lengths)
            return jnp.concatenate([pad, tail, lengths, pad, head], axis=-1)

        def both(w, seen, heard):
            return {"seen": jnp.tanh(seen @ w["seen"]), "heard": jnp.tanh(heard @ w["heard"])}

        def alike(made):
            return made["seen"] @ made["seen"].T + made["heard"] @ made["heard"].T

        def entry(w, seen, heard):
            return jnp.sum(alike(both(w, seen, heard)))
        """,
    "rows that are joined twice, beside others of what is made otherwise": """
        def messages(sent, nodes, bonds, src, dst):
            leaving = jax.nn.silu(nodes @ sent)[src]
            degree = jnp.cumsum(nodes, axis=0)[dst]
            return jnp.concatenate([leaving, jnp.tanh(bonds), leaving], axis=-1)
        """,
    "taken back once by each of two, and a state that is scaled at each step": """
        def raw(stats, z):
            return z * stats["std"] + stats["mean"]

        def entry(w, own, other, z):
            return raw(other, raw(own, jnp.tanh(z @ w))), raw(own, z)
        """,
    "a list with both, and one that nobody joins": """
        def entry(w, seen, heard, told):
            made = {"seen": jnp.tanh(seen @ w), "heard": jnp.tanh(heard @ w)}
            sizes = [made["seen"].ndim, made["seen"].ndim]
            parts = [made["seen"], made["heard"]]
            return jnp.concatenate(parts + [told], axis=-1), sizes
        """,
    "what is joined with itself, with nothing lost": """
        def doubled(w, x, y):
            h = jnp.tanh(x @ w)
            made = {"x": h, "y": jnp.tanh(y @ w)}
            twice = jnp.concatenate([made["x"], made["x"]], axis=-1)
            return jnp.stack([h, h]), twice, made

        def mix(old, new):
            gate = jax.nn.sigmoid(old)
            return gate * old + (1.0 - gate) * new
        """,
    "what may be normalised or not, and steps of another kind": """
        def scale(stats, x):
            return (x - stats["mean"]) / stats["std"]

        def maybe(stats, x, is_raw):
            return scale(stats, jnp.where(is_raw, x, scale(stats, x)))

        def step(x, rate, goal):
            return (x - goal) * rate

        def twice(x, rate, goal):
            return step(step(x, rate, goal), rate, goal)
        """,
    "some of what a matrix is decomposed into": """
        from typing import NamedTuple

        class Clusters(NamedTuple):
            spectrum: jax.Array
            gap: jax.Array
            basis: jax.Array

        def clusters(matrix):
            left, values, right = jnp.linalg.svd(matrix)
            return Clusters(spectrum=values, gap=values[-2], basis=right)
        """,
    "leaves that only give their structure, or are used alone": """
        @jax.jit
        def spread(specs, params, scale):
            named = jax.tree.map(lambda leaf, spec: spec, params, specs)
            squares = jax.tree.map(lambda p, spec: p * p + 2.0 * p, params, specs)
            tiled = jax.tree.map(lambda p, _: jnp.stack([p, p]), params, specs)
            both = jax.tree.map(lambda a, b: 0.5 * a + 0.5 * b, params, scale)
            return named, squares, tiled, both
        """,
    "logarithms that are added, and chances that weight them": """
        def ahead(start, moves, seen):
            belief = jax.nn.log_softmax(start) + seen
            total = jax.nn.logsumexp(belief[:, None] + jax.nn.log_softmax(moves, axis=-1), axis=0)
            chance = jax.nn.softmax(moves, axis=-1)
            return total + chance @ jnp.log(seen), total - jnp.sum(chance * belief), chance + seen
        """,
    "pixels that are scaled once, or by the pixels of a mask": """
        def scale(frames):
            return frames.astype(jnp.float32) / 255.0

        def blend(frames, cover):
            share = scale(cover)
            return frames * share / 255.0, scale(255.0 * share)

        def back(frames):
            return scale(jnp.round(scale(frames) * 255.0))
        """,
    "an action that is brought between two limits, one after the other": """
        def between(share, low, high):
            return low + share * (high - low)

        def nested(share, low, high, lower, upper):
            inner = between(share, low, high)
            return between(inner, lower, upper), between(jax.nn.sigmoid(inner), low, high)
        """,
    "probabilities and their logarithms, each with their own": """
        def terms(logits, old_logits, actions):
            p, logp = jax.nn.softmax(logits), jax.nn.log_softmax(logits)
            old = jax.nn.log_softmax(old_logits)
            entropy = -jnp.sum(p * logp, axis=-1)
            return jnp.exp(logp - old), entropy, jnp.log(p + 1e-8) - old, p - jnp.exp(old)
        """,
    "one thing joined with itself on purpose": """
        def rotary(x, positions):
            angles = positions[:, None] * jnp.exp(-jnp.arange(4.0))
            angles = jnp.concatenate([angles, angles], axis=-1)
            return x * jnp.cos(angles)

        def mirrored(p, x):
            last, rows = lax.scan(lambda h, row: (h + row, h * row), x[0], x)
            return jnp.concatenate([rows, rows[::-1]], axis=0), jnp.stack([last, last])
        """,
    "deviations that rounding does not make negative": """
        def deviation(x, total, squares, count):
            mean = x.mean()
            kept = jnp.sqrt(jnp.maximum(jnp.mean(x**2) - mean**2, 0.0))
            centred = jnp.sqrt(jnp.mean((x - mean) ** 2))
            root = jnp.sqrt(squares - total**2)
            return kept, centred, root, jnp.sqrt(squares / count + mean**2)
        """,
    "means of segments that leave out the empty ones, and shares within segments": """
        def pooled(x, weights, owner, other, n):
            total = jax.ops.segment_sum(x, owner, n)
            count = jax.ops.segment_sum(weights, owner, n)
            share = jnp.exp(x) / jax.ops.segment_sum(jnp.exp(x), owner, n)[owner]
            flow = total / jax.ops.segment_sum(weights, other, n)
            return total / jnp.maximum(count, 1e-6), share, flow
        """,
    "means of segments that are as long as somebody says": """
        def pooled(x, weights, sizes):
            owner = jnp.repeat(jnp.arange(sizes.shape[0]), sizes, total_repeat_length=x.shape[0])
            total = jax.ops.segment_sum(x, owner, sizes.shape[0])
            return total / jax.ops.segment_sum(weights, owner, sizes.shape[0])
        """,
    "bytes that are added up elsewhere, and flags": """
        def product(x, w):
            codes, weights = x.astype(jnp.int8), w.astype(jnp.int8)
            return jnp.matmul(codes, weights, preferred_element_type=jnp.int32)

        def votes(one, other, frame):
            both = (one > 0).astype(jnp.uint8) + (other > 0).astype(jnp.uint8)
            half = frame.astype(jnp.uint8) // 2 + other.astype(jnp.uint8) // 2
            return both // 2, half // 2
        """,
    "transforms with other parameters, of other things, or in turn with their inverse": """
        def in_units(var, x):
            return x / jnp.sqrt(var + 1e-8)

        def squashed(x):
            return jnp.sign(x) * jnp.log1p(jnp.abs(x))

        def opened(x):
            return jnp.sign(x) * jnp.expm1(jnp.abs(x))

        @jax.jit
        def terms(one, other, x, y, w):
            twice = in_units(other, in_units(one, x))
            inside = squashed(opened(squashed(x)))
            return twice, inside, squashed(x) + squashed(y), squashed(squashed(x) @ w)
        """,
    "distances without those to itself, and means of what was seen": """
        def directions(x):
            offset = x[:, None, :] - x[None, :, :]
            far = jnp.sqrt(jnp.sum(offset**2, axis=-1))
            chosen = jnp.where(far[..., None] > 0, offset / far[..., None], 0.0)
            return chosen, offset / (far[..., None] + 1e-6), x / jnp.sqrt(jnp.sum(x**2))

        def averages(rows):
            def step(state, row):
                total, count = state
                total, count = total + row, count + 1.0
                return (total, count), total / count

            return lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), rows)
        """,
    "bytes less a small number, or less than their largest": """
        def shifted(x):
            labels = x.astype(jnp.uint8)
            return labels - 1, 255 - labels, labels.max() - labels
        """,
    "results of which one is not needed": """
        def moments(x):
            return x.mean(axis=0), x.var(axis=0)

        def parts(w, text):
            scale, shift = jnp.split(jnp.tanh(text @ w), 2, axis=-1)
            return scale, shift

        def encode(w, x):
            return jnp.tanh(x @ w)

        def centred(x, w, text):
            mean, var = moments(x)
            scale, shift = parts(w, text)
            gate = jnp.where(scale > 0, scale, 0.0)
            return (x - mean) * gate, mean * mean, encode(w, scale)

        def loss(w, target, one, weight):
            return jnp.mean((encode(w, one) - encode(target, one)) ** 2)

        @jax.jit
        def update(w, target, x, weight):
            return loss(w, target, x + 1.0, weight)
        """,
    "weights of what is left of others": """
        def chosen(scores, sharpness):
            gates = jax.nn.softmax(scores)
            return jax.nn.softmax(jnp.log(gates) * sharpness), gates / gates.sum()
        """,
    "two ranks of one order": """
        def floor(scores, rank, extra):
            lowest = jnp.sort(scores)[::-1][rank - 1]
            for i in range(rank, scores.shape[0]):
                other = jnp.sort(scores)[::-1][i]
                lowest = jnp.where(i < extra, jnp.minimum(lowest, other), lowest)
            return lowest, jnp.maximum(jnp.sort(scores)[0], jnp.sort(scores)[1])
        """,
}


@each_of(WRONG)
def test_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_silent(program: str):
    check_silent(program, "dataflow")
