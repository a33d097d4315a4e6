"""What tracing does to Python, found by reading: side effects, texts, clocks."""

from .reading import found


def test_a_tracer_is_stored_through_a_helper_that_a_jitted_function_calls():
    program = """
    LOG = {}

    def keep(name, value):
        LOG[name] = value

    @functools.partial(jax.jit, static_argnames="scale")
    def step(x, scale=2.0):
        y = x * scale
        keep("y", y)
        return y
    """
    assert found("JT101", program) == [4]


def test_an_attribute_of_a_static_self_is_assigned_a_tracer():
    program = """
    class Agent:
        def __init__(self, params):
            self.params = params

        @functools.partial(jax.jit, static_argnums=0)
        def update(self, batch):
            self.params = self.params - 0.1 * batch.mean(0)
            return self.params
    """
    assert found("JT101", program) == [7]


def test_an_attribute_is_assigned_in_a_method_that_is_jitted_in_init():
    program = """
    class Agent:
        def __init__(self, params):
            self.params = params
            self.step = jax.jit(self._step)

        def _step(self, batch):
            self.loss = jnp.mean(batch ** 2)
            return self.loss
    """
    assert found("JT101", program) == [7]


def test_a_nonlocal_counter_moves_on_once_in_a_scan():
    program = """
    def run(xs):
        count = 0

        def body(carry, x):
            nonlocal count
            count = count + 1
            return carry + x / count, None

        return lax.scan(body, 0.0, xs)[0]
    """
    assert found("JT101", program) == [6]


def test_a_deque_keeps_tracers():
    program = """
    from collections import deque

    recent = deque(maxlen=10)

    @jax.jit
    def observe(x):
        recent.append(x.sum())
        return x
    """
    assert found("JT101", program) == [7]


def test_local_containers_of_a_traced_function_may_change():
    program = """
    @jax.jit
    def f(x, params):
        outs = []
        cache = {"first": x}
        for w in params:
            x = x @ w
            outs.append(x)
            cache.update(last=x)

        def add(y):
            outs.append(y)

        add(x)
        params["w"] = x
        return outs, cache

    def body(carry, x):
        parts = [carry]
        parts += [x]
        return parts[0] + parts[1], parts

    def g(xs):
        history = []
        for x in xs:
            history.append(lax.scan(body, x, xs))
        return history
    """
    assert found("JT101", program) == []


def test_what_is_noted_on_purpose_while_tracing_is_no_side_effect():
    program = """
    traces = 0
    SHAPES = set()

    @jax.jit
    def f(x):
        global traces
        traces += 1
        SHAPES.add(x.shape)
        return x

    def structure(f, x):
        box = []

        def g(x):
            y, extra = f(x)
            box.append(extra)
            return y

        jax.eval_shape(g, x)
        return box[0]

    def on_host(x):
        SEEN.append(x)

    SEEN = []

    @jax.jit
    def h(x):
        jax.debug.callback(on_host, x)
        return x
    """
    assert found("JT101", program) == []


def test_prints_and_logs_of_tracers():
    program = """
    import logging
    from logging import info

    logger = logging.getLogger(__name__)

    def report(name, value):
        logger.info("%s: %s", name, value)

    @jax.jit
    def f(x):
        print("x is", x)
        text = f"mean {x.mean()}"
        print(text)
        info("sum " + str(x.sum()))
        report("max", x.max())
        return x
    """
    assert found("JT102", program) == [7, 11, 13, 14]


def test_prints_of_what_is_known_while_tracing():
    program = """
    import logging

    @functools.partial(jax.jit, static_argnums=1)
    def f(x, n):
        print("compiling for", x.shape, x.dtype, n)
        logging.info("size %d", len(x))
        jax.debug.print("x {x}", x=x)
        return x

    def main(x):
        y = f(x, 3)
        print(y, f"{y.mean():.3f}")
    """
    assert found("JT102", program) == []


def test_clocks_and_random_numbers_are_frozen():
    program = """
    import random
    import time

    RNG = np.random.default_rng(0)

    def noise(shape):
        return RNG.normal(size=shape)

    @jax.jit
    def f(x):
        start = time.perf_counter()
        y = x + noise(x.shape)
        if random.random() < 0.5:
            y = -y
        return y, start
    """
    assert found("JT104", program) == [7, 11, 13]


def test_a_generator_of_a_seed_gives_the_same_numbers_anyway():
    program = """
    import time

    @jax.jit
    def f(x):
        rng = np.random.default_rng(3)
        return x @ rng.normal(size=(4, 4))

    def main(x):
        start = time.time()
        f(x)
        return time.time() - start, np.random.rand()
    """
    assert found("JT104", program) == []


def test_python_functions_that_compare():
    program = """
    @jax.jit
    def f(x, y):
        low = min(x.sum(), y.sum())
        ranks = sorted([x.mean(), y.mean()])
        if x.max() in (1.0, 2.0):
            low = -low
        return low, ranks

    @jax.jit
    def g(params, x):
        names = sorted(params)
        for name, leaf in sorted(params.items()):
            x = x + leaf
        best = max([x, x], key=lambda it: it.size)
        return best, max(x.shape), min(len(x), 3)
    """
    assert found("JT201", program) == [3, 4, 5]


def test_an_exception_of_tracing_that_is_expected():
    program = """
    def is_positive(x):
        try:
            return bool(x.sum() > 0)
        except jax.errors.TracerBoolConversionError:
            return False

    @jax.jit
    def f(x):
        try:
            if x.sum() > 0:
                x = -x
        except jax.errors.ConcretizationTypeError:
            pass
        return x if is_positive(x) else -x
    """
    assert found("JT201", program) == []
    assert found("JT202", program) == []


def test_numbers_of_python_from_tracers():
    program = """
    def scale(x, n):
        return x / int(n)

    @jax.jit
    def f(x, n, items):
        y = scale(x, n)
        z = float(x.mean())
        w = np.asarray(x)
        v = x.sum().item()
        text = f"{z} {x.max():.2f}"
        buffer = np.zeros(3)
        buffer[0] = x[0]
        return y, z, w, v, text, [jnp.sin, jnp.cos][n](x)
    """
    assert found("JT202", program) == [2, 7, 8, 9, 10, 12, 13]


def test_numbers_of_python_that_are_known():
    program = """
    @functools.partial(jax.jit, static_argnums=(1,))
    def f(x, n):
        total = int(np.prod(x.shape))
        for i in range(n):
            x = x + float(n) / total
        return x * np.float32(2.0) * np.sqrt(x.shape[-1])

    def g(x):
        return float(x.sum()), np.asarray(jax.jit(lambda y: y + 1)(x))

    def host(x):
        return np.sort(x)

    @jax.jit
    def h(x):
        return jax.pure_callback(host, x, x)
    """
    assert found("JT202", program) == []


def test_sizes_that_are_traced():
    program = """
    @jax.jit
    def f(x, n, done):
        head = x[:n]
        zeros = jnp.zeros((n, 3))
        ids = jnp.arange(n)
        (where,) = jnp.where(done > 0)
        some = x[x > 0]
        values = jnp.unique(x)
        return head, zeros, ids, where, some, values, x.reshape(n, -1)

    def body(i, x):
        return x + x[i : i + 2].sum()

    def g(x):
        return lax.fori_loop(0, 4, body, x)
    """
    assert found("JT203", program) == [3, 4, 5, 6, 7, 8, 9, 12]


def test_sizes_that_are_known():
    program = """
    MASK = np.array([True, False, True])

    @functools.partial(jax.jit, static_argnames="n")
    def f(x, i, n):
        b, t = x.shape
        a = x[:n], x[:t], jnp.zeros(b), jnp.arange(len(x)), x[MASK]
        c = jnp.where(x > 0, x, 0), jnp.nonzero(x, size=n), x[i], x.at[x > 0].set(0.0)
        d = lax.dynamic_slice(x, (i, 0), (n, t)), lax.dynamic_slice_in_dim(x, i, n)
        return a, c, d, jnp.unique(x, size=3), jnp.where(x > 0, size=4)

    def host(x):
        return x[x > 0], jnp.nonzero(x), x[: int(x[0])]
    """
    assert found("JT203", program) == []


def test_containers_and_words_where_arrays_are_needed():
    program = """
    @jax.jit
    def f(x, mode):
        return x

    def norm(tree):
        return jnp.sqrt(jnp.sum([jnp.sum(x) for x in jax.tree.leaves(tree)]))

    def g(x):
        y = jnp.maximum((x, x), 0.0)
        return f(x, "train"), f(x, jnp.tanh), f(x, mode={"kind": "eval"}), y
    """
    assert found("JT204", program) == [6, 9, 10]


def test_containers_that_functions_take():
    program = """
    @functools.partial(jax.jit, static_argnums=(1,), static_argnames=("act",))
    def f(x, mode, act=jnp.tanh):
        return x

    def g(x, modes):
        stacked = jnp.stack([x, x]), jnp.concatenate([x, x]), jnp.array([1, 2])
        return f(x, "train", act=jnp.sin), f(x, modes), jnp.zeros((3, 2)), jnp.sum(x)
    """
    assert found("JT204", program) == []


def test_a_traced_key_in_a_helper():
    program = """
    TABLE = {0: "a", 1: "b"}

    def pick(mode):
        return TABLE[mode]

    @functools.partial(jax.jit, static_argnums=1)
    def inner(x, n):
        return x * n

    @jax.jit
    def f(x, mode):
        pick(mode)
        return inner(x, mode)

    @jax.jit
    def g(x, params):
        return inner(x, 3) + params["w"]
    """
    assert found("JT205", program) == [4, 13]


def test_branches_that_differ():
    program = """
    def f(x, flag):
        a = lax.cond(flag, lambda v: (v, v), lambda v: v * 2, x)
        b = lax.switch(flag, [lambda: 0, lambda: 1.0])
        c = lax.cond(flag, lambda: {"a": x}, lambda: {"a": x, "b": x})
        d = lax.cond(flag, lambda v: jnp.zeros(3), lambda v: jnp.zeros((3, 1)), x)
        return a, b, c, d

    def same(x, flag):
        a = lax.cond(flag, lambda v: (v, 0.0), lambda v: (v * 2, jnp.float32(1)), x)
        b = lax.switch(flag, [jnp.sin, jnp.cos, lambda v: v], x)
        c = lax.cond(flag, lambda v: None, lambda v: None, x)
        return a, b, c
    """
    assert found("JT206", program) == [2, 3, 4, 5]


def test_arrays_written_in_place():
    program = """
    @jax.jit
    def f(x: jax.Array, state):
        x[0] = 1.0
        state["count"] = 0
        y = jnp.zeros(3)
        y[1:] += 2.0
        return x, y, state

    def g(items, n):
        out = jnp.ones(n) * 2.0
        for i in range(n):
            out[i] = i
        items[0] = out
        host = np.zeros(3)
        host[0] = 1
        return out, host
    """
    assert found("JT207", program) == [3, 6, 12]


def test_a_global_that_a_loop_changes_is_read_by_a_jitted_function():
    program = """
    def run(w, xs):
        rate = 0.1
        config = {"decay": 0.0}

        def decayed(w):
            return w * (1.0 - config["decay"])

        @jax.jit
        def step(w, x):
            return decayed(w) - rate * x

        for x in xs:
            w = step(w, x)
            rate = rate * 0.99
        config["decay"] = 0.1
        return step(w, xs[0])
    """
    assert found("JT103", program) == [6, 10]


def test_an_attribute_that_another_method_sets():
    program = """
    class Policy:
        def __init__(self, params):
            self.params = params
            self.temperature = 1.0
            self.act = jax.jit(self._act)

        def _act(self, obs):
            return obs @ self.params / self.temperature

        def load(self, params):
            self.params = params

        def train(self, batches):
            for batch in batches:
                self.params = self.params - self.act(batch)

    @functools.partial(jax.jit, static_argnums=0)
    def evaluate(policy, obs):
        return obs @ policy.params
    """
    assert found("JT103", program) == [8]


def test_what_does_not_change_may_be_closed_over():
    program = """
    RATE = 0.1

    class Policy:
        def __init__(self, size):
            self.size = size
            self.build()

        def build(self):
            self.table = jnp.zeros(self.size)

        @functools.partial(jax.jit, static_argnums=0)
        def __call__(self, x):
            return x + self.table * RATE

        def reset(self):
            self.count = 0

    def make(rate):
        @jax.jit
        def step(w):
            return w - rate * w
        return step

    def main(w, policy):
        for rate in (0.1, 0.2):
            step = make(rate)
            w = step(w)
        local = 1.0

        @jax.jit
        def f(x):
            return x * local

        w = f(f(w))
        return policy(w), policy(w)
    """
    assert found("JT103", program) == []


def test_large_arrays_are_constants_of_the_program():
    program = """
    class Lookup:
        def __init__(self):
            self.table = np.zeros((4096, 128), np.float32)
            self.small = np.zeros(16)

        @functools.partial(jax.jit, static_argnums=0)
        def __call__(self, ids):
            return self.table[ids] * self.small[0]

    def main(ids, table):
        lookup = Lookup()
        inner = jax.jit(lambda t, i: t[i])
        return lookup(ids), inner(table, ids)
    """
    assert found("JT301", program) == [8]


def test_compiled_in_each_turn():
    program = """
    @jax.jit
    def total(x):
        return x.sum()

    @functools.partial(jax.jit, static_argnames="step")
    def advance(x, step):
        return x + step

    def main(x, steps):
        seen = []
        for i in range(steps):
            x = advance(x, step=i)
            y = jax.jit(lambda v: v * 2)(x)
            seen.append(y)
            z = total(jnp.stack(seen))
            w = total(x[i:])
        return z, w

    def fresh(x):
        def inner(v):
            return v + 1
        return jax.jit(inner)(x)

    def often(x):
        while x.sum() < 3:
            x = fresh(x)
        return x
    """
    assert found("JT304", program) == [12, 13, 15, 16, 22]


def test_compiled_once():
    program = """
    @jax.jit
    def total(x):
        return x.sum()

    @functools.partial(jax.jit, static_argnames="mode")
    def advance(x, i, mode):
        return x + i

    def main(x, n, configs):
        double = jax.jit(lambda v: v * 2)
        for i in range(0, n, 32):
            x = advance(x, i, mode="fast")
            y = total(x[i : i + 32])
            x = double(x)
        for mode in ("a", "b"):
            x = advance(x, 0, mode=mode)
        for config in configs:
            step = jax.jit(lambda v: v * config)
            x = step(x)
        return x, y

    @jax.jit
    def traced(x):
        for i in range(5):
            x = x.at[i].add(total(x[:i]))
        return x
    """
    assert found("JT304", program) == []


def test_static_arguments_that_cannot_be():
    program = """
    from dataclasses import dataclass

    @dataclass
    class Config:
        size: int

    @functools.partial(jax.jit, static_argnums=2)
    def f(x, config):
        return x

    @functools.partial(jax.jit, static_argnames=("confg",))
    def g(x, config):
        return x

    @functools.partial(jax.jit, static_argnums=(1,))
    def h(x, config):
        return x

    def main(x):
        return h(x, Config(3)), h(x, {"size": 3}), h(x, [1, 2]), h(x, config=jnp.ones(3))

    class Agent:
        def __init__(self):
            self.f = jax.jit(self.step, static_argnums=(1,))

        def step(self, x):
            return x
    """
    assert found("JT105", program) == [7, 11, 20, 24]


def test_static_arguments_that_can_be():
    program = """
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Config:
        size: int

    class Plain:
        pass

    class Agent:
        @functools.partial(jax.jit, static_argnums=(0, 2), static_argnames="mode")
        def step(self, x, config, *, mode="a"):
            return x

        def run(self, x):
            return self.step(x, Config(3), mode="b"), self.step(x, (1, 2)), self.step(x, Plain())

    f = jax.jit(lambda *args, **options: args, static_argnums=3, static_argnames="name")

    def main(x, numbers, names):
        g = jax.jit(f, static_argnums=numbers)
        return g(x, names), jax.jit(jnp.sum, static_argnames="axis")(x, axis=0)
    """
    assert found("JT105", program) == []


def test_a_donated_array_is_used_again():
    program = """
    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, batch):
        return params, state

    def train(params, state, batches):
        for batch in batches:
            new, state = step(params, state, batch)
        return new

    class Trainer:
        def __init__(self):
            self.update = jax.jit(self._update, donate_argnames="params")

        def _update(self, params, x):
            return params - x

        def run(self, x):
            new = self.update(self.params, x)
            if x.ndim > 1:
                print(self.params)
            self.params = new
    """
    assert found("JT106", program) == [7, 20]


def test_a_donated_array_is_replaced():
    program = """
    step = jax.jit(lambda params, x: params - x, donate_argnums=0)

    def train(params, xs, self):
        for x in xs:
            params = step(params, x)
            self.params = step(self.params, x)
        total = step(params, x)
        params = total
        return params

    def once(params, x):
        if x is None:
            return step(params, x)
        new = step(params, x)
        print(params.shape)
        return new

    @jax.jit
    def inside(params, x):
        return step(params, x) + params
    """
    assert found("JT106", program) == []


def test_exceptions_that_are_never_raised():
    program = """
    def mean(total, count):
        try:
            result = total / count
        except ZeroDivisionError:
            result = 0.0
        return result

    @jax.jit
    def f(x, n):
        y = mean(x, n.sum())
        try:
            z = x[n]
        except IndexError:
            z = x[0]
        return y, z

    @jax.jit
    def g(x):
        try:
            import scipy
        except ImportError:
            scipy = None
        try:
            y = x.reshape(3, -1)
        except (TypeError, ValueError):
            y = x
        return y

    def host(x, n):
        return mean(x, n)
    """
    assert found("JT107", program) == [4, 13]


def test_arrays_that_grow_by_joining_and_by_counting():
    program = """
    @jax.jit
    def last(tokens):
        return tokens[-1]

    def generate(tokens, n):
        for i in range(n):
            token = last(tokens)
            tokens = jnp.concatenate([tokens, token[None]])
            other = last(jnp.zeros(i) + 1.0)
        fixed = jnp.concatenate([tokens, tokens])
        for i in range(n):
            token = last(fixed)
        return last(tokens), other

    def constant(tokens, n):
        for i in range(n):
            tokens = jnp.concatenate([tokens[1:], last(tokens)[None]])
        return tokens
    """
    assert found("JT304", program) == [7, 9]


def test_an_array_of_numpy_is_written_to_after_it_was_read():
    program = """
    def run(x, n):
        weights = np.ones(3)
        bias = np.zeros(3)

        @jax.jit
        def score(x):
            return x * weights + bias

        for i in range(n):
            x = score(x)
            weights[i] = 0.0
        return x
    """
    assert found("JT103", program) == [7]


def test_a_cache_of_the_module_keeps_a_tracer():
    program = """
    CACHE = {}

    def mean(x):
        if "mean" not in CACHE:
            CACHE["mean"] = x.mean(0)
        return CACHE["mean"]

    @jax.jit
    def f(x):
        return x - mean(x)
    """
    assert found("JT101", program) == [5]


def test_a_key_that_is_made_from_a_tracer():
    program = """
    @jax.jit
    def f(x, agent, names):
        out = {}
        out[f"agent_{agent}"] = x
        same = {f"layer_{i}": x for i in range(3)}
        message = f"agent {agent}"
        return out, {str(agent): x}, same, names[f"layer_{x.ndim}"]
    """
    assert found("JT205", program) == [4, 7]
