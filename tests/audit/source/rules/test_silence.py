"""Right programs of well-tested packages that were taken for wrong, and wrong ones beside them."""

from verax.audit.source.engine import audit_paths

from .reading import found


def test_a_jacobian_has_the_structure_of_the_outputs():
    program = """
    def moments(f):
        p = jax.nn.softmax(f)
        return p, jnp.diag(p)

    def residual(f, chol):
        return jnp.linalg.inv(chol) @ jax.jacrev(moments)(f.reshape(-1))[0]
    """
    assert found("AX201", program) == []


def test_the_words_of_an_old_key_are_numbers():
    program = """
    key = jax.random.PRNGKey(3)
    first, second = key[0], key[1]
    wrong = jnp.float32(3)[0]
    """
    assert found("AX201", program) == [3]


def test_leaves_of_lists_of_lists_are_mapped_one_by_one():
    program = """
    def spread(x, count):
        rows = [[x[0], x[1]], [x[2], x[3]]]
        for _ in range(count):
            rows = jax.tree.map(jnp.expand_dims, rows)
        return rows

    def means(tables):
        return jax.tree.map(jnp.mean, [it * 2 for it in tables])
    """
    assert found("JT204", program) == []


def test_a_lambda_in_a_class_is_not_a_method():
    program = """
    class Devices:
        mean = jax.pmap(lambda x: lax.pmean(x, "x"), "x")

        def synchronised(self, state):
            return Devices.mean(state)

        @jax.jit
        def kept(self, state):
            return state
    """
    assert found("PT201", program) == [7]


def test_what_is_evaluated_while_tracing_is_no_tracer():
    program = """
    @jax.jit
    def states(x):
        with jax.ensure_compile_time_eval():
            seen = jnp.unique(jnp.arange(4) // 2)
            if seen.sum() > 0:
                seen = seen + 1
        return x + seen.sum(), jnp.unique(x)
    """
    assert found("JT203", program) == [7]
    assert found("JT201", program) == []


def test_a_turn_that_ends_early_hands_on_its_own_key():
    program = """
    def batches(x, count):
        key = jax.random.key(0)
        start = 0
        while start < count:
            if start > 5:
                key, sub = jax.random.split(key)
                x = jax.random.permutation(sub, x)
                start = 0
                continue
            yield x
            start += 1
    """
    assert found("RK001", program) == []
    again = program.replace("key, sub", "rest, sub").replace("permutation(sub", "permutation(key")
    assert found("RK001", again) == [7]


def test_a_state_of_a_class_is_another_one_in_each_turn():
    program = """
    from flax import struct

    @struct.dataclass
    class State:
        rng: jax.Array
        params: jax.Array

    def train(rng, params, xs):
        state = State(rng=rng, params=params)
        for x in range(3):
            rng, sub = jax.random.split(state.rng)
            state = state.replace(rng=rng)
            order = jax.random.permutation(sub, 10)
            state, _ = lax.scan(lambda it, i: (it.replace(params=i), None), state, order)
        return state
    """
    assert found("RK002", program) == []


def test_a_field_of_a_base_class_is_one_of_the_object():
    program = """
    from flax import struct

    @struct.dataclass
    class Base:
        rng: jax.Array = struct.field(default=None)

    @struct.dataclass
    class Chains(Base):
        beta: jax.Array = struct.field(default=None)

    def sample(state: Chains):
        def body(i, state: Chains):
            rng, sub = jax.random.split(state.rng)
            return state.replace(rng=rng, beta=state.beta + jax.random.normal(sub))

        return lax.fori_loop(0, 8, body, state)
    """
    assert found("RK002", program) == []


def test_a_property_is_set_through_its_setter():
    program = """
    class Variable:
        def __init__(self, value):
            self._value = value

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, value):
            self._value = value

        def split(self):
            keys = jax.random.split(self.value)
            self._value = keys[0]
            return keys[1]

    class Generator:
        def __init__(self, seed):
            self.seed, self._key = seed, None

        @property
        def key(self):
            if self._key is None:
                self._key = Variable(jax.random.PRNGKey(self.seed))
            return self._key

        def __call__(self):
            return self.key.split()

    GENERATOR = Generator(0)

    def layers(count):
        a = jax.random.normal(GENERATOR(), (3,))
        b = jax.random.normal(GENERATOR(), (3,))
        return a, b, [jax.random.normal(GENERATOR()) for _ in range(count)]
    """
    assert found("RK001", program) == []
    assert found("RK002", program) == []


def test_a_name_for_checkers_only_is_not_there_when_the_program_runs():
    program = """
    import dataclasses
    import typing
    from flax import struct

    dataclass = struct.dataclass if not typing.TYPE_CHECKING else dataclasses.dataclass

    @dataclass
    class Settings:
        width: int

    @functools.partial(jax.jit, static_argnums=1)
    def model(x, settings):
        return x * settings.width

    def run(x):
        return model(x, Settings(3))
    """
    assert found("JT105", program) == []
    assert found("JT105", program.replace("if not typing", "if typing")) == [16]


def test_a_context_that_says_where_tracing_is():
    program = """
    import contextlib

    LEVEL = 0

    @contextlib.contextmanager
    def deeper():
        global LEVEL
        LEVEL += 1
        try:
            yield
        finally:
            LEVEL -= 1

    @jax.jit
    def step(x):
        global LEVEL
        with deeper():
            LEVEL += 1
            return x * 2
    """
    assert found("JT101", program) == [18]


def test_an_abstract_class_has_no_objects():
    program = """
    import abc

    class Operator(abc.ABC):
        @abc.abstractmethod
        def connected(self, x):
            pass

        @jax.jit
        def count(self, x):
            return self.connected(x).sum()
    """
    assert found("PT201", program) == []
    assert found("PT201", program.replace("@abc.abstractmethod", "")) == [8]


def test_lists_that_are_filled_by_a_position():
    program = """
    def gather(parts, names):
        columns = tuple([] for _ in range(len(names)))
        for part in parts:
            for i, name in enumerate(names):
                columns[i].append(part[name])
        joined = tuple(jnp.concatenate(it) for it in columns)
        return joined, jnp.concatenate([])
    """
    assert found("AX201", program) == [7]


def test_a_line_search_begins_at_one_point():
    program = """
    def search(f, pos, direction):
        def body(val):
            scale, _, energy = val["scale"], val["new"], val["energy"]
            new = pos - scale * direction
            return {"scale": scale / 2, "new": new, "energy": f(new)}

        start = {"scale": 1.0, "new": pos, "energy": jnp.inf}
        return lax.while_loop(lambda val: val["energy"] > 1.0, body, start)["new"]

    def stuck(f, pos):
        def body(val):
            energy, _ = val
            return f(pos), pos - 0.1 * jax.grad(f)(pos)

        return lax.while_loop(lambda val: val[0] > 1.0, body, (jnp.inf, pos))
    """
    assert found("SC005", program) == [13]


def test_one_element_is_compared_with_all_that_are_there():
    program = """
    def amended(known, new):
        new = jnp.expand_dims(new, np.arange(known.ndim)[0])
        is_close = jnp.all(jnp.abs(known - new) < 1e-3, axis=1)
        return jnp.where(jnp.any(is_close), jnp.full_like(new, jnp.nan), new)
    """
    assert found("EN001", program) == []
    assert found("EN001", program.replace("known - new", "new")) == [4]


def test_a_flag_that_a_loop_sets_is_known_in_its_first_turn_only():
    program = """
    def read(rows):
        is_data, table = False, []
        for row in rows:
            if row == "data":
                is_data = True
            elif is_data:
                table.append([float(it) for it in row])
        table = jnp.array(table)
        return table[:, 0]
    """
    assert found("AX201", program) == []
    assert found("AX201", program.replace("= True", "= False")) == [9]


def test_arrays_in_place_of_the_lists_that_they_are_made_of():
    program = """
    def padded(batch, size):
        rows = [[] for _ in range(len(batch))]
        for b, items in enumerate(batch):
            for it in items:
                rows[b].append(jnp.ones(3) * it)
            rows[b] = jnp.concatenate(rows[b])
        return [jnp.pad(rows[b], (0, size)) for b in range(len(batch))]
    """
    assert found("AX201", program) == []
    assert found("JT204", program) == []


def test_after_a_tracer_was_converted_in_vain():
    program = """
    @jax.jit
    def weights(sizes):
        try:
            known = np.asarray(sizes)
        except (TypeError, ValueError):
            return sizes / jnp.sum(sizes)
        return jnp.repeat(known, int(np.max(sizes)))

    @jax.jit
    def asked(sizes):
        return sizes / np.exp(sizes)
    """
    assert [it for it in found("JT202", program) if it > 5] == [11]


def test_a_record_has_no_axes_and_parts():
    program = """
    from io import StringIO

    def bonds(text):
        table = np.genfromtxt(StringIO(text), dtype=None, delimiter=",").reshape((-1,))
        total = 0.0
        for bond in table:
            i, j, *params = bond
            total += params[0]
        return total
    """
    assert found("AX201", program) == []


def test_a_container_is_no_array():
    program = """
    def scaled(tree):
        if isinstance(tree, (jax.Array, np.ndarray)):
            return jnp.square(tree)
        return [scaled(it) for it in tree]

    def both(x):
        return scaled((x, x))
    """
    assert found("JT204", program) == []


def test_a_protocol_is_a_promise_that_many_classes_keep():
    program = """
    from typing import Protocol

    class State(Protocol):
        position: jax.Array

    class Fixed:
        position: jax.Array

        def __init__(self, position):
            self.position = position

    def count(states: State, x):
        count = len(jax.tree.leaves(states))
        return count, jax.tree.leaves(Fixed(jnp.ones(3)))
    """
    assert found("PT104", program) == [14]


def test_a_list_that_a_constructor_leaves_empty():
    program = """
    class Module:
        def __init__(self):
            self.points = []

        def centre(self):
            return jnp.concatenate(self.points).mean()
    """
    assert found("AX201", program) == []


def test_a_condition_that_holds_in_one_turn():
    program = """
    def block(x, params, key):
        for n in [0, 1]:
            if n == 1:
                x = x * jax.random.bernoulli(key, 0.9, x.shape)
            x = x @ params[n]
        return x
    """
    assert found("RK002", program) == []
    assert found("RK002", program.replace("n == 1", "n >= 0")) == [4]


def test_a_square_matrix_has_one_size():
    program = """
    def reached(A, start):
        seen = np.zeros(A.shape[0])
        for u in range(A.shape[0]):
            for v in range(A.shape[0]):
                if A[u, v] > 0 and seen[u]:
                    seen[v] = 1
        return seen

    def total(targets):
        return sum(targets[:, t].sum() for t in range(targets.shape[1]))
    """
    assert found("SC004", program) == []
    assert found("SC004", program.replace("shape[1]", "shape[0]")) == [10]


def test_an_object_is_changed_while_it_is_made():
    program = """
    class Sun:
        def __init__(self, flux):
            self.flux = flux

        def heat(self, x):
            return self.flux * x

        @classmethod
        def normalised(cls, flux):
            sun = cls(flux)
            sun.flux /= flux + 1.0
            return sun

        def dim(self):
            return None

    def run(x, flux):
        return jax.jit(Sun.normalised(flux).heat)(x)
    """
    assert found("JT103", program) == []
    assert found("JT103", program.replace("return None", "self.flux /= 2")) == [6]


def test_what_calls_and_axes_give_takes_the_place_of_a_default():
    program = """
    def layers(x, theta, with_parts=False):
        if with_parts:
            return x, theta, x * theta
        return x, theta

    def mapped(x, theta):
        few = jax.vmap(layers, (0, None), (0, None))(x, theta)
        return few, jax.vmap(layers, (0, None, None), (0, None, 0))(x, theta, True)

    def sampled(x, blocks=None):
        if blocks is None:
            return np.asarray(x).sum()
        return x * blocks

    compiled = jax.jit(sampled)

    def run(x, size: int):
        return compiled(x, blocks=jnp.ones(3))
    """
    assert found("VM202", program) == []


def test_each_turn_takes_another_key_of_a_list():
    program = """
    def layers(key, sizes):
        first, *rest = jax.random.split(key, len(sizes) + 1)
        made = [jax.random.normal(rest[i], (size,)) for i, size in enumerate(sizes)]
        for i, size in enumerate(sizes):
            made.append(jax.random.normal(rest[0], (size,)))
        return made
    """
    assert found("RK002", program) == [5]


def test_a_custom_derivative_runs_as_it_is():
    program = """
    @jax.custom_vjp
    def solve(a, b):
        x = np.linalg.solve(np.asarray(a), np.asarray(jnp.negative(b)))
        return x

    solve.defvjp(lambda a, b: (solve(a, b), a), lambda a, g: (None, g))

    def run(a, b):
        return solve(a, b)

    @jax.jit
    def compiled(a, b):
        return np.exp(solve(a, b))
    """
    assert found("JT202", program) == [3]
    assert found("JT202", program.replace("@jax.jit\n", "\n")) == []


def test_numpy_leaves_some_functions_to_the_array():
    program = """
    @jax.jit
    def bounds(x):
        low, high = np.min(x, 0), np.max(x, axis=0)
        return np.sum(low) + np.mean(high), np.median(x)
    """
    assert found("JT202", program) == [4]


def test_a_function_in_a_class_that_takes_no_object():
    program = """
    class Deviate:
        def discard(self, n):
            self._key = Deviate._discard(self._key, n)

        @jax.jit
        def _discard(key, n):
            return lax.fori_loop(0, n, lambda i, key: jax.random.split(key)[0], key)
    """
    assert found("SC201", program) == []
    assert found("PT201", program) == []


def test_a_function_for_arrays_is_differentiated_at_a_number():
    program = """
    from jaxtyping import Array, Float

    def phase(f: Float[Array, "n_freq"], theta) -> Float[Array, "n_freq"]:
        return theta * f**2

    def slope(f1, theta):
        return jax.value_and_grad(phase)(f1 * 2.0, theta)

    def wrong(theta):
        return jax.grad(lambda f: theta * f**2)(jnp.ones(3))
    """
    assert found("GR201", program) == [10]


def test_rules_of_methods_and_of_arguments_by_name():
    program = """
    class Projector:
        def __init__(self):
            self.project = jax.custom_vjp(self._project)
            self.project.defvjp(lambda x: (self._project(x), None), lambda _, y: (y,))

        def _project(self, x):
            return x * 2

    @functools.partial(jax.custom_vjp, nondiff_argnames=("is_causal",))
    def attend(q, k, is_causal):
        return q * k if is_causal else q + k

    attend.defvjp(lambda q, k, is_causal: (attend(q, k, is_causal), (q, k)), lambda c, r, g: (g, g))
    run = jax.jit(attend, static_argnames="is_causal")

    @jax.custom_vjp
    def wrong(x):
        return x

    wrong.defvjp(lambda x: (x, None), lambda r, g, c: (g,))
    """
    assert found("GR016", program) == [20]
    assert found("JT201", program) == []


def test_a_store_in_a_reference_of_a_kernel():
    program = """
    def kernel(x_ref, out_ref):
        out_ref.at[:, 0].store(x_ref[...])
        out_ref.at[:, 0].set(x_ref[...])
    """
    assert found("DF104", program) == [3]


def test_static_names_of_a_function_that_is_not_known():
    program = """
    from somewhere import made

    update = jax.jit(made(), static_argnames=("method",))

    def run(x):
        return update(x, "add")
    """
    assert found("JT204", program) == []


def test_an_average_that_moves_is_no_return():
    program = """
    def train(target, transitions, tau):
        def update(target, step):
            reward, value = step
            q = reward + 0.9 * value
            return (1 - tau) * target + tau * q, None

        return lax.scan(update, target, (transitions.reward, transitions.value))
    """
    assert found("EN003", program) == []
    assert found("EN003", program.replace("(1 - tau) * target + tau * q", "q + tau * target")) == [
        7
    ]


def test_what_has_failed_anywhere_is_void():
    program = """
    def guarded(params, last):
        failed = jnp.array([jnp.any(jnp.isnan(it), axis=0) for it in jax.tree.leaves(params)])
        return lax.cond(jnp.any(failed), lambda: last, lambda: params)

    def winner(state):
        lines = (state.board[jnp.arange(9)] == state.color).all(axis=1)
        return lax.select(lines.any(), state.color, -1)
    """
    assert found("EN001", program) == []


def test_an_empty_container_is_false():
    program = """
    def normalised(vector, others=()):
        if not others:
            return vector / jnp.linalg.norm(vector)
        return jnp.stack(others) @ vector

    def run(x):
        return normalised(x)
    """
    assert found("AX201", program) == []


def test_combining_elements_of_a_scan_many_at_a_time():
    program = """
    @jax.vmap
    def combined(one, other):
        return one * other

    def products(x):
        return lax.associative_scan(combined, jnp.ones(7))
    """
    assert found("VM202", program) == []


def test_one_selection_from_several_arrays():
    program = """
    def batch(key, x, y, arrays):
        rows = jax.random.choice(key, x, (8,)), jax.random.choice(key, y, (8,))
        return rows, [jax.random.permutation(key, it) for it in arrays]

    def wrong(key, x):
        return jax.random.choice(key, x, (8,)), jax.random.choice(key, x, (9,))
    """
    assert [it for it in found("RK001", program) if it != 3] == [6]
    assert found("RK002", program) == []


def test_a_network_and_its_target_begin_alike():
    program = """
    def states(net, key, obs):
        return net.init(key, obs), net.init(key, obs)

    def wrong(actor, critic, key, obs):
        return actor.init(key, obs), critic.init(key, obs)
    """
    assert found("RK001", program) == [5]


def test_a_choice_between_two_draws():
    program = """
    def position(key, is_round):
        return jnp.where(is_round, jax.random.normal(key), jax.random.uniform(key))
    """
    assert found("RK001", program) == []
    assert found("RK001", program.replace("is_round, jax", "is_round, 0.0, jax")) == [2]


def test_names_of_variables_are_a_set():
    program = """
    @jax.jit
    def loaded(params, given):
        missing = set(params) - {name for name in given}
        if missing:
            raise ValueError(missing)
        return given
    """
    assert found("JT201", program) == []


def test_a_field_of_the_start_is_read_for_another_part():
    program = """
    def search(tree, steps):
        def body(i, carry):
            parent, value = carry
            return i, value + tree.root * 2.0

        return lax.fori_loop(0, steps, body, (tree.root, 0.0))
    """
    assert found("SC005", program) == []


def test_a_typed_dict_is_a_dict():
    program = """
    from typing import TypedDict

    class Sampler(TypedDict):
        count: jax.Array

    def insert(sampler: Sampler, xs):
        def body(sampler, x):
            return {**sampler, "count": sampler["count"] + x}, x

        return lax.scan(body, sampler, xs)

    def fresh(xs):
        return insert(Sampler(count=jnp.zeros(3)), xs)
    """
    assert found("SC201", program) == []


def test_trees_of_which_one_is_known():
    program = """
    def added(left, right):
        return jax.tree.map(jnp.add, left, right)

    def run(params):
        return added(params, {"w": jnp.ones(3), "b": jnp.ones(2)})
    """
    assert found("JT204", program) == []


def test_all_devices_have_what_was_gathered():
    program = """
    from somewhere import AXIS

    @functools.partial(jax.pmap, axis_name=AXIS, out_axes=None)
    def gathered(x):
        return lax.all_gather(x, AXIS, tiled=True)

    @functools.partial(jax.pmap, axis_name=AXIS, out_axes=None)
    def apart(x):
        return x * 2
    """
    assert found("VM202", program) == [7]


def test_bounds_have_a_part_in_the_shape_of_a_draw():
    program = """
    def sample(keys, low, high):
        drawn = jax.vmap(jax.random.uniform, in_axes=(0, None, None, 0, 0))(
            keys, (), jnp.float32, low[:, None], high[:, None]
        )
        return jax.vmap(jnp.exp)(drawn.squeeze(axis=-1))
    """
    assert found("VM202", program) == []


def test_a_key_that_is_passed_as_none():
    program = """
    def sample(state, key=None, query=None):
        if key is not None:
            query = jax.random.uniform(key)
        return state * query

    def batch(state, queries):
        return jax.vmap(sample, in_axes=(None, None, 0))(state, None, queries)
    """
    assert found("RK003", program) == []


def test_what_is_called_a_key_may_be_many():
    program = """
    from jaxtyping import PRNGKeyArray

    def folded(keys: PRNGKeyArray, indices):
        for index in indices:
            keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, index)
        return keys
    """
    assert found("VM202", program) == []


def test_a_call_that_lacks_its_arguments():
    program = """
    def test_it(raises):
        jnp.sin()
        jnp.dot(a=jnp.ones(3))
        return jnp.ones(3)[0, 0]
    """
    assert found("AX201", program) == [4]


def test_a_circle_of_imports_ends(tmp_path):
    circle = {
        "one": "from two import f, g",
        "two": "from three import f, g",
        "three": "from two import f, g\nfrom one import f as h\n\nx = f(g, h)",
    }
    for name, text in circle.items():
        (tmp_path / f"{name}.py").write_text(text)
    report = audit_paths([str(tmp_path)])
    assert (report.findings, report.notes) == ((), ())


def test_a_helper_that_selects_is_called_twice():
    program = """
    def position(key, grid):
        return jax.random.choice(key, grid)

    def reset(key, rooms):
        return position(key, rooms[0]), position(key, rooms[1])
    """
    assert found("RK001", program) == [5]


def test_an_object_made_anew_from_a_dict_of_its_parts():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Offset:
        def __init__(self, scale, origin):
            self.params = {"scale": scale, "origin": origin}
            self.scale, self.origin = scale, origin

        def tree_flatten(self):
            return (self.params,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(**children[0])
    """
    assert found("PT101", program) == []
    assert found("PT101", program.replace("**children[0]", "children[0]")) == [12]
