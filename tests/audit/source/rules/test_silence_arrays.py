"""Right shapes, loops and episodes that were taken for wrong, and wrong ones beside them."""

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


def test_keys_of_dicts_are_sets():
    program = """
    def changed(data, steps):
        known = {it: None for it in steps}
        lost, new = data["steps"].keys() - known, known.keys() - steps
        both = data["steps"].items() & known.items()
        scaled = known - 0.1 * jnp.ones(3)
        return lost, new, both, scaled
    """
    assert found("JT204", program) == [5]


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


def test_a_field_of_the_start_is_read_for_another_part():
    program = """
    def search(tree, steps):
        def body(i, carry):
            parent, value = carry
            return i, value + tree.root * 2.0

        return lax.fori_loop(0, steps, body, (tree.root, 0.0))
    """
    assert found("SC005", program) == []


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


def test_a_call_that_lacks_its_arguments():
    program = """
    def test_it(raises):
        jnp.sin()
        jnp.dot(a=jnp.ones(3))
        return jnp.ones(3)[0, 0]
    """
    assert found("AX201", program) == [4]


def test_what_follows_an_unknown_number_of_arguments():
    program = """
    def loss(model, now, after, alive, gamma):
        return jnp.mean(jax.vmap(jnp.sin)(after) * gamma)

    slope = jax.value_and_grad(loss)

    def step(model, batch):
        return slope(model, *batch, 0.95), loss(model, *batch, 0.95)

    def wrong(model, batch):
        return loss(model, batch, 0.95, *batch)
    """
    assert found("VM202", program) == [2]
    assert found("VM202", program[: program.index("def wrong")]) == []


def test_what_is_stacked_has_the_dtype_that_is_asked_for():
    program = """
    def place(grid, rows, statuses):
        marks = jnp.stack([jnp.array([5.0, 1.0, 0.0]) for it in statuses], dtype=jnp.uint8)
        return grid.at[rows].set(marks)

    def entry(rows):
        return place(jnp.zeros((4, 3), jnp.uint8), rows, rows)
    """
    assert found("DF204", program) == []
