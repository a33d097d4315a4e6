"""Functions that are compiled again for arrays which grow or shrink from call to call."""

from .reading import found

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
