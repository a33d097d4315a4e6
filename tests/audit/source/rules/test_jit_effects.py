"""What tracing does to Python, found by reading: side effects, texts, clocks, exceptions."""

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


def test_the_value_of_a_loss_that_nothing_is_known_of_is_kept():
    program = """
    class Trainer:
        def __init__(self, loss):
            self.loss, self.history = loss, []
            self.step = jax.jit(self.update)

        def update(self, params, batch):
            value, gradient = jax.value_and_grad(self.loss)(params, batch)
            self.history.append(value)
            return params - gradient, value
    """
    assert found("JT101", program) == [8]


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


def test_texts_of_tracers_that_are_put_together():
    program = """
    import sys

    def announce(text, **values):
        body = "  ".join(f"{name}={value}" for name, value in values.items())
        sys.stdout.write(f"{text} {body}")

    def sizes(x):
        print(", ".join(f"{size}" for size in x.shape), " ".join(["a", "b"]))

    @jax.jit
    def step(x):
        announce("step", x=x, loss=x.sum())
        lines = [str(x), "end"]
        print("; ".join(lines))
        sizes(x)
        return x
    """
    assert found("JT102", program) == [5, 14]


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


def test_writers_of_summaries_get_tracers():
    program = """
    from torch.utils.tensorboard import SummaryWriter

    class Agent:
        def __init__(self, folder):
            self.writer = SummaryWriter(folder)
            self.update = jax.jit(self._update)

        def _update(self, params, x):
            loss = jnp.sum(params * x)
            self.writer.add_scalar("loss", loss)
            self.writer.add_text("shape", str(x.shape))
            return params - x, loss

        def train(self, params, xs):
            for x in xs:
                params, loss = self.update(params, x)
                self.writer.add_scalar("loss", loss)
            return params
    """
    assert found("JT102", program) == [10]


def test_a_helper_that_others_call_outside_is_told_where_it_is_traced():
    program = """
    import time

    class Metrics:
        def report(self, name, value):
            print(name, value)

        def lap(self):
            return time.perf_counter()

    metrics = Metrics()

    def loss(w, x):
        error = jnp.sum((w - x) ** 2)
        metrics.report("error", error)
        return error

    @jax.jit
    def step(w, x):
        began = metrics.lap()
        return w - jax.grad(loss)(w, x), began

    def train(w, xs):
        for x in xs:
            w, began = step(w, x)
            metrics.report("lap", metrics.lap())
        return w
    """
    assert found("JT102", program) == [14]
    assert found("JT104", program) == [19]


def test_iterators_of_outside_do_not_go_on_while_tracing():
    program = """
    def train(w, batches, key):
        source = iter(batches)

        @jax.jit
        def step(w):
            return w + next(source)

        @jax.jit
        def named(w, batch):
            names = iter(["a", "b"])
            return {next(names): w + batch}

        for _ in range(10):
            w = step(w)
        return named(w, next(source))
    """
    assert found("JT104", program) == [6]


def test_stores_of_other_kinds():
    program = """
    from collections import defaultdict

    KEPT = defaultdict(list)

    class Box:
        last = None

    @jax.jit
    def f(x):
        y = x + 1
        KEPT["y"].append(y)
        Box.last = y
        setattr(Box, "first", y)
        mine = defaultdict(list)
        mine["y"].append(y)
        return mine["y"]
    """
    assert found("JT101", program) == [11, 12, 13]


def test_an_object_that_is_made_while_tracing_is_no_place_outside():
    program = """
    class Holder:
        def __init__(self, value):
            self.value = value

    class Pair:
        def __init__(self, first, second):
            self.first = Holder(first)
            self.second = second

    def build(x):
        kept = Pair(x, x * 2)
        return kept.first.value

    @jax.jit
    def f(x):
        return jax.vmap(build)(x)
    """
    assert found("JT101", program) == []


def test_what_is_put_back_before_the_function_ends_is_not_kept():
    program = """
    class Layer:
        def __init__(self):
            self._weights = ()
            self.rng = None

        @property
        def weights(self):
            return self._weights

        @weights.setter
        def weights(self, new):
            self._weights = new

        def forward(self, x):
            return x @ self.weights + jax.random.normal(self.rng, x.shape)

        def pure(self, x, weights, rng):
            old_weights, old_rng = self.weights, self.rng
            self.weights, self.rng = weights, rng
            y = self.forward(x)
            self.weights, self.rng = old_weights, old_rng
            return y

        def kept(self, x, weights):
            self.weights = weights
            return x @ self.weights

    layer = Layer()

    @jax.jit
    def fine(x, weights, rng):
        return layer.pure(x, weights, rng)

    @jax.jit
    def wrong(x, weights):
        return layer.kept(x, weights)
    """
    assert set(found("JT101", program)) == {12}
    assert found("JT101", program.replace("layer.kept(x, weights)", "x @ weights")) == []


def test_one_branch_puts_nothing_back_that_the_other_one_keeps():
    program = """
    class Model:
        def __init__(self):
            self.last = None

        def store(self, x, keep):
            if keep:
                self.last = x * 2
            else:
                self.last = None

    model = Model()

    @jax.jit
    def step(x, flag=True):
        model.store(x, flag)
        return x

    @functools.partial(jax.jit, static_argnames="flag")
    def either(x, flag):
        model.store(x, flag)
        return x
    """
    assert set(found("JT101", program)) == {7}


def test_a_list_of_the_call_that_is_kept_later_is_told_where_it_is_kept():
    program = """
    class Heat:
        def __init__(self):
            self.values = None

        def flux(self, t, top):
            values = [jnp.zeros(3), -top]
            if top.shape[0] > 2:
                values[-1] = values[-1] + t
            return values

        @functools.partial(jax.jit, static_argnums=0)
        def update(self, t, top):
            self.values = self.flux(t, top)
            return top + self.values[-1]

    def run(t, top):
        return Heat().update(t, top)
    """
    assert found("JT101", program) == [13]


COUNTED = """
    import itertools

    def decayed(xs):
        numbers = itertools.count(1)

        def step(h, x):
            h = h + x / next(numbers)
            return h, h

        return lax.scan(step, jnp.zeros(3), xs)
"""


def test_a_loop_computes_with_a_number_that_is_counted_once():
    assert found("JT104", COUNTED) == [7]
    named = COUNTED.replace("x / next(numbers)", "scoped(x, f'step{next(numbers)}')")
    assert found("JT104", named) == []
    inside = COUNTED.replace("h = h + x / next(numbers)", "h = h + x / next(itertools.count(1))")
    assert found("JT104", inside) == []


TAKEN = """
    def warmed(xs):
        rates = [0.1, 0.2, 0.4]

        def step(h, x):
            rate = rates.pop(0)
            return h + rate * x, None

        return lax.scan(step, jnp.zeros(3), xs)
"""


def test_a_loop_takes_one_element_out_of_a_list():
    assert found("JT101", TAKEN) == [5]
    own = TAKEN.replace("rate = rates.pop(0)", "own = [0.1, 0.2]; rate = own.pop(0)")
    assert found("JT101", own) == []


def test_a_counter_in_an_array_of_numpy_is_moved_once():
    counter = TAKEN.replace("[0.1, 0.2, 0.4]", "np.zeros(1)")
    counter = counter.replace("rate = rates.pop(0)", "rates[0] += 1.0; rate = rates[0]")
    assert found("JT101", counter) == [5]
    inside = counter.replace("rates[0] += 1.0;", "rates = np.zeros(1); rates[0] += 1.0;")
    assert found("JT101", inside) == []
