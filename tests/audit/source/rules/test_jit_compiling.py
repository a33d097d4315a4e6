"""What is compiled again in each turn of a loop, and what is compiled once."""

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


def test_a_list_of_what_is_in_a_list_that_grows():
    program = """
    @jax.jit
    def fit(xs):
        return xs.sum()

    def main(stream):
        seen = []
        for x, y in stream:
            seen.append((x, y))
            fit(jnp.stack([x for x, _ in seen]))
    """
    assert found("JT304", program) == [9]
    assert found("JT304", program.replace("in seen]", "in seen[-8:]]")) == []
    assert found("JT304", program.replace("in seen]", "in seen if x is y]")) == []


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


def test_a_list_of_an_object_grows_with_every_call_of_a_method():
    program = """
    @jax.jit
    def fit(rows):
        return rows.mean(axis=0)

    class Model:
        def __init__(self):
            self.rows = []

        def observe(self, row):
            self.rows.append(row)
            return fit(jnp.stack(self.rows))

    def run(data):
        model = Model()
        return [model.observe(data[i]) for i in range(100)]

    def apart(data):
        found = []
        for i in range(100):
            model = Model()
            found.append(model.observe(data[i]))
        return found
    """
    assert found("JT304", program) == [11]
    fresh = program.replace(
        "        model = Model()\n        return [model", "        return [Model()"
    )
    assert found("JT304", fresh) == []


def test_pieces_of_a_log_that_are_each_of_another_length():
    program = """
    @jax.jit
    def total(piece):
        return piece.sum()

    def pieces(log):
        start = 0
        for length in range(2, 20):
            yield log[start : start + length]
            start += length

    def run(log):
        return [total(piece) for piece in pieces(log)]
    """
    assert found("JT304", program) == [12]
    alike = program.replace("start + length]", "start + 8]")
    assert found("JT304", alike) == []


CARRIED = """
class Run(NamedTuple):
    seen: jax.Array
    score: jax.Array

@jax.jit
def judge(seen):
    return seen.sum()

def extend(run):
    score = judge(run.seen)
    return Run({0}, run.score + score)

def search(start, count):
    run = Run(start, 0.0)
    for _ in range(count):
        run = extend(run)
    return run
"""


def test_a_part_of_a_record_is_longer_or_shorter_in_each_turn():
    program = "from typing import NamedTuple" + CARRIED
    assert found("JT304", program.format("jnp.append(run.seen, score)")) == [11]
    assert found("JT304", program.format("jnp.concatenate([run.seen, score[None]])")) == [11]
    assert found("JT304", program.format("run.seen[1:]")) == [11]
    # As many as before.
    for same in ("run.seen[::-1]", "run.seen[:8]", "jnp.append(run.seen[1:], score)"):
        assert found("JT304", program.format(same)) == []
    assert found("JT304", program.format("jnp.stack([run.seen, run.seen])[0]")) == []


def test_what_grows_through_helpers_trees_and_objects():
    program = """
    @jax.jit
    def fitted(params, data):
        return params - jax.tree.map(jnp.sum, data)["x"]

    def extended(old, new):
        return jnp.concatenate([old, new])

    def trees(params, batches):
        data = batches[0]
        for batch in batches:
            data = jax.tree.map(extended, data, batch)
            params = fitted(params, data)
        return params

    class Memory:
        def __init__(self, first):
            self.data = first

        def add(self, new):
            self.data = {"x": jnp.append(self.data["x"], new)}

    def kept(params, first, news):
        memory = Memory({"x": first})
        for new in news:
            memory.add(new)
            params = fitted(params, memory.data)
        return params

    def listed(params, news):
        seen = []
        for new in news:
            seen.append(new)
            params = fitted(params, seen)
        return params
    """
    assert found("JT304", program) == [12, 26, 33]


def test_what_stays_as_long_as_it_is():
    program = """
    @jax.jit
    def fitted(params, data):
        return params - jax.tree.map(jnp.sum, data)["x"]

    class Window:
        def __init__(self, first):
            self.data = first

        def add(self, new):
            self.data = {"x": jnp.concatenate([self.data["x"][1:], new[None]])}

    def windows(params, first, news):
        window = Window({"x": first})
        for new in news:
            window.add(new)
            params = fitted(params, window.data)
        return params

    class Memory:
        def __init__(self, first):
            self.data = first

        def add(self, new):
            self.data = jnp.append(self.data, new)

    def fresh(params, first, news):
        for new in news:
            memory = Memory(first)
            memory.add(new)
            params = fitted(params, memory.data)
        return params

    def bounded(params, data, news):
        for new in news:
            data = jnp.concatenate([data, new])
            if data.shape[0] > 64:
                data = data[-64:]
            params = fitted(params, data)
        return params

    def built(params, data, news):
        for new in news:
            data = jnp.asarray(data)
            params = fitted(params, data)
        memory = Memory(data)
        for new in news:
            memory.add(new)
        return fitted(params, memory.data)

    def parts(params, news):
        for new in news:
            seen = []
            seen.append(new)
            params = fitted(params, seen)
        return params
    """
    assert found("JT304", program) == []


def test_what_shrinks_by_a_row_in_each_turn():
    program = """
    @jax.jit
    def scored(rows):
        return rows.sum(-1)

    def greedy(rows, count):
        taken = []
        for _ in range(count):
            best = jnp.argmax(scored(rows))
            taken.append(rows[best])
            rows = jnp.roll(rows, -best, axis=0)[1:]
        return taken

    def popped(rows):
        while rows.shape[0] > 0:
            value = scored(rows)
            rows = rows[:-1]
        return value

    def window(rows, news):
        for new in news:
            value = scored(rows)
            rows = jnp.concatenate([rows, new[None]])[1:]
        return value

    def halves(rows, count):
        for _ in range(count):
            value = scored(rows)
            rows = rows[:, None][0:]
        return value

    def trimmed(rows, news):
        for new in news:
            value = scored(new[1:])
        return value
    """
    assert found("JT304", program) == [8, 15]


def test_an_array_of_an_object_grows_with_every_call_of_a_method():
    program = """
    @jax.jit
    def judge(rows):
        return rows.sum()

    class Log:
        def __init__(self, first):
            self.rows = first[None]

        def add(self, row):
            self.rows = jnp.concatenate([self.rows, row[None]])

    def run(rows):
        log = Log(rows[0])
        for i in range(1, rows.shape[0]):
            log.add(rows[i])
            judge(log.rows)
        return log
    """
    assert found("JT304", program) == [16]
    window = program.replace("[self.rows, row", "[self.rows[1:], row")
    assert found("JT304", window) == []
    after = program.replace("    judge(log", "judge(log")
    assert found("JT304", after) == []


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
