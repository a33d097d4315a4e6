"""What is compiled again in each turn of a loop, and what is compiled once."""

import pytest

from .reading import found


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


def test_a_slice_that_has_a_name():
    program = """
    @jax.jit
    def total(x):
        return x.sum()

    def main(x):
        sums, day = [], 1
        while day < x.shape[0]:
            seen = slice(day)
            sums.append(total(x[seen]))
            day += 1
        return sums
    """
    assert found("JT304", program) == [9]
    assert found("JT304", program.replace("slice(day)", "slice(0, day, None)")) == [9]
    assert found("JT304", program.replace("slice(day)", "slice(day, day + 4)")) == []
    assert found("JT304", program.replace("slice(day)", "slice(None)")) == []


def test_functions_that_cut_or_count_a_part():
    program = """
    @jax.jit
    def total(x):
        return x.sum()

    def main(x):
        for step in range(1, x.shape[0]):
            total(lax.slice_in_dim(x, 0, step))
    """
    cut = "lax.slice_in_dim(x, 0, step)"
    for grows in (cut, "lax.dynamic_slice_in_dim(x, 0, step)", "jnp.arange(1, step)"):
        assert found("JT304", program.replace(cut, grows)) == [7]
    for stays in (
        "lax.slice_in_dim(x, step, step + 4)",
        "lax.dynamic_slice_in_dim(x, step, 4)",
        "jnp.arange(step, step + 4)",
    ):
        assert found("JT304", program.replace(cut, stays)) == []


def test_a_function_is_jitted_anew_for_each_array_that_it_closes_over():
    program = """
    def loss(p, noise):
        return (p + noise).sum()

    def train(p, key, models):
        for k in jax.random.split(key, 100):
            noise = jax.random.normal(k, (3,))
            step = jax.jit(lambda q: loss(q, noise))
            p = p - step(p)
        for model in models:
            run = jax.jit(lambda q: model(q))
            p = run(p)
        return p
    """
    assert found("JT304", program) == [7]


def test_what_a_loop_has_made_in_each_turn_is_told_where_it_has_it_made():
    program = """
    def build(rate):
        def step(params, x):
            return params - rate * x
        return jax.jit(step)

    def train(params, batches, rates):
        for epoch in range(100):
            step = build(0.1 * 0.9**epoch)

            for x in batches:
                params = step(params, x)
        return params
    """
    assert found("JT304", program) == [8]


def test_a_run_of_its_own_compiles_for_all_of_its_turns():
    program = """
    def fit(params, batches, rate):
        @jax.jit
        def step(params, x):
            return params - rate * x

        for x in batches:
            params = step(params, x)
        return params

    def trials(params, batches, count):
        return [fit(params, batches, 0.1) for _ in range(count)]

    def timed(params, batches):
        step = jax.jit(lambda params, x: params - x)
        first = step(params, batches[0])
        for x in batches:
            first = step(first, x)
        return first

    def sizes(params, batches, count):
        return [timed(params, batches) for _ in range(count)]

    def once(params, x, rate):
        @jax.jit
        def step(params, x):
            return params - rate * x

        return step(params, x)

    def often(params, x, rates):
        for rate in range(100):
            params = once(params, x, 0.1)
        return params
    """
    assert found("JT304", program) == [24]


def test_what_a_cache_keeps_is_made_once():
    program = """
    @functools.lru_cache
    def kernel():
        @jax.jit
        def rotate(x):
            return x[::-1]
        return rotate

    @functools.cache
    def shifted(by):
        @jax.jit
        def shift(x):
            return x + by
        return shift

    def same(x, count):
        for i in range(count):
            x = kernel()(x)
        return x

    def others(x, count):
        for i in range(count):
            x = shifted(i)(x)
        return x
    """
    assert found("JT304", program) == [22]
    assert found("JT304", program.replace("@functools.lru_cache", "@jax.named_call")) == [17, 22]


def test_a_shape_that_stays_for_many_turns():
    program = """
    @jax.jit
    def fitted(params, basis):
        return params - basis.sum()

    def greedy(params, count):
        basis = jnp.zeros((0, 3))
        for i in range(count):
            for _ in range(1000):
                params = fitted(params, basis)
            basis = jnp.concatenate((basis, params[None]), axis=0)
        return basis

    def each(params, count):
        basis = jnp.zeros((0, 3))
        for i in range(count):
            params = fitted(params, basis)
            basis = jnp.concatenate((basis, params[None]), axis=0)
        return basis
    """
    assert found("JT304", program) == [16]


def test_a_loop_that_tries_until_it_succeeds():
    program = """
    def batched(f, size):
        return jax.jit(lambda xs: jax.lax.map(f, xs, batch_size=size))

    def first(f, xs, size):
        while True:
            try:
                run = batched(f, 64)
                result = run(xs)
                break
            except RuntimeError:
                xs = xs[::2]
        return result

    def forever(f, xs, size):
        while True:
            try:
                run = batched(f, 64)
                xs = run(xs)
            except RuntimeError:
                break
        return xs
    """
    assert found("JT304", program) == [17]


def test_methods_and_transformed_functions_are_new_whenever_they_are_made():
    program = """
    class Model:
        def __init__(self, params):
            self.params = params
            self.fast = jax.jit(self._step)

        def _step(self, params, x):
            return params * x

        @property
        def step(self):
            return jax.jit(self._step)

        def fit(self, xs):
            for x in xs:
                self.params = self.step(self.params, x)

        def fit_fast(self, xs):
            for x in xs:
                self.params = self.fast(self.params, x)

    def loss(params, x):
        return params * x

    def train(params, xs):
        for x in xs:
            params = params - jax.jit(jax.grad(loss))(params, x)
        return params

    def train_fast(params, xs):
        slope = jax.grad(loss)
        for x in xs:
            params = params - jax.jit(slope)(params, x) - jax.jit(loss)(params, x)
        return params
    """
    assert found("JT304", program) == [15, 26]


def test_what_is_timed_for_each_choice():
    program = """
    def fastest(run, limits):
        for limit in limits:
            f = jax.jit(lambda limit=limit: run(limit))
            jax.block_until_ready(f())

    def again(run, limits):
        for limit in limits:
            f = jax.jit(lambda limit=3: run(limit))
            jax.block_until_ready(f())
    """
    assert found("JT304", program) == [8]


def test_a_number_of_an_array_could_be_an_argument():
    program = """
    def relax(x, beta):
        return x * beta

    def sweep(x, betas, names):
        for beta in betas:
            x = jax.jit(functools.partial(relax, beta=beta))(x)
        for name in names:
            x = jax.jit(functools.partial(relax, beta=name))(x)
        return x

    def main(x, names):
        return sweep(x, np.linspace(0.1, 2.0, 8), names)
    """
    assert found("JT304", program) == [6]


def test_numbers_of_python_are_static_for_filter_jit():
    program = """
    import equinox as eqx

    class Counted(eqx.Module):
        weights: jax.Array
        count: int

    @eqx.filter_jit
    def update(weights, rate, turn):
        return weights - rate / (1 + turn)

    @eqx.filter_jit
    def go_on(state, rate):
        return Counted(state.weights - rate, state.count + 1)

    def entry(weights):
        for turn in range(20):
            weights = update(weights, 0.1, turn)
        for turn in range(20):
            weights = update(weights, 0.1, jnp.asarray(turn))
        state = Counted(weights, 0)
        for _ in range(20):
            state = go_on(state, 0.1)
        return state
    """
    assert found("JT304", program) == [17, 20]
    assert found("JT304", program.replace("weights, 0)", "weights, jnp.asarray(0))")) == [17]


def test_numbers_that_a_module_keeps_are_the_same_in_each_turn():
    program = """
    import equinox as eqx

    class Scaled(eqx.Module):
        weights: jax.Array
        gains: list

        def __call__(self, x):
            return jnp.array(self.gains) * (self.weights @ x)

    def loss(model, x):
        return model(x).sum()

    @eqx.filter_jit
    def go_on(model, x):
        return eqx.apply_updates(model, eqx.filter_grad(loss)(model, x))

    def entry(weights, x):
        model = Scaled(weights, [i % 2 for i in range(3)])
        for _ in range(20):
            model = go_on(model, x)
        return model
    """
    assert found("JT304", program) == []


@pytest.mark.parametrize(
    ("number", "is_another"),
    [
        ("i", True),
        ("i + 1", True),
        ("n - i", True),
        ("-2 * i", True),
        ("i / 2", True),
        ("7 * n + i", True),
        ("count", True),
        ("i % 2", False),
        ("min(i, 3)", False),
        ("i // 8", False),
        ("i * n", False),
        ("i - count", False),
        ("i % 2 + 1", False),
        ("abs(i - n)", False),
        ("flag", False),
        ("sometimes", False),
        ("SIZES[i % 3]", False),
    ],
)
def test_a_static_number_is_another_one_in_each_turn(number: str, is_another: bool):
    program = f"""
    SIZES = (1, 2, 3)

    @functools.partial(jax.jit, static_argnums=1)
    def scale(x, n):
        return x * n

    def main(x, n):
        count, flag, sometimes = 0, 0, 0
        for i in range(100):
            x = scale(x, {number})
            count += 2
            flag = 1 - flag
            if flag:
                sometimes += 1
        return x
    """
    assert found("JT304", program) == ([10] if is_another else [])
