"""The first three sections: lines, transformations, boundaries, on programs of plain truth."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.audit.report import Flow, FlowStep
from verax.audit.run import audit_callable
from verax.audit.trace.sections.folding import runs


def flow_of(function, *args, axes=None) -> Flow:
    (flow,) = audit_callable(function, args, {}, axes=axes, rules=(), strict=True).data_flow
    return flow


def all_steps(flow: Flow) -> list[FlowStep]:
    return [step for outer in flow.steps for _, step in outer.walk()]


def step_at(flow: Flow, text: str) -> FlowStep:
    (step,) = [it for it in all_steps(flow) if it.text.startswith(text)]
    return step


# --- folding


@given(st.lists(st.integers(0, 3), max_size=40))
def test_runs_unfold_to_what_was_folded(forms):
    unfolded = [
        form
        for run in runs(forms)
        for _ in range(run.times)
        for form in forms[run.start : run.start + run.length]
    ]
    assert unfolded == forms


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6, unique=True), st.integers(2, 9))
def test_a_block_that_repeats_is_one_run(block, times):
    assert [(it.length, it.times) for it in runs(block * times)] == [(len(block), times)]


# --- lines


def normalise(mean, x):
    centred = x - mean
    return centred / 2.0


def policy(params, mean, obs):
    unused = jnp.exp(mean)  # noqa: F841
    normed = normalise(mean, obs)
    hidden = jnp.tanh(
        normed @ params["w"]  # a comment
    )
    return jax.nn.softmax(hidden), hidden.sum(axis=0)


def test_a_step_is_a_line_with_what_it_assigns_and_who_uses_it():
    args = {"w": jnp.ones((4, 3))}, jnp.zeros((1, 4)), jnp.ones((5, 4))
    axes = {"params": {"w": "feat hid"}, "mean": " feat", "obs": "batch feat"}
    flow = flow_of(policy, *args, axes={"obs": "batch feat", "params": axes["params"]})
    assert [step.text for step in flow.steps] == [
        "unused = jnp.exp(mean)",
        "normed = normalise(mean, obs)",
        'hidden = jnp.tanh( normed @ params["w"] )',
        "return jax.nn.softmax(hidden), hidden.sum(axis=0)",
    ]
    unused, normed, hidden, result = flow.steps
    assert [it.text for it in normed.children] == ["centred = x - mean", "return centred / 2.0"]
    assert [(it.name, str(it.tensor)) for it in hidden.produces] == [
        ("hidden", "f32[batch=5,hid=3]")
    ]
    names = flow.value_names()
    assert [names[it] for it in hidden.consumes] == ["normed", "params['w']"]
    assert [names[it] for it in normed.consumed_by] == ["hidden"]
    assert "contracts feat" in hidden.notes
    assert "squashed into -1..1" in hidden.notes
    assert "computed and discarded: no output depends on it" in unused.notes
    assert "sums over batch" in result.notes
    assert any(note.startswith("softmaxed") for note in result.notes)
    assert [(it.name, it.tensor.shape) for it in flow.outputs] == [
        ("output[0]", (5, 3)),
        ("output[1]", (3,)),
    ]
    assert "mean is used in lines" in " ".join(flow.notes)


def test_inputs_that_never_reach_an_output_are_named():
    flow = flow_of(lambda a, b: a + a, jnp.ones(3), jnp.ones(3))
    assert "b never reaches an output" in flow.notes


def deep(params, x):
    for w, b in params:
        h = x @ w
        x = jnp.tanh(h + b)
    return x


def test_a_hundred_layers_are_one_block():
    layer = jnp.ones((4, 4)), jnp.ones((1, 4))
    flow = flow_of(deep, [layer] * 100, jnp.ones((5, 4)))
    (block,) = flow.steps
    assert block.repeat == 100
    assert [it.text for it in block.children] == ["h = x @ w", "x = jnp.tanh(h + b)"]
    shown = {value.id for step in all_steps(flow) for value in step.produces}
    inputs = {value.id for value in flow.inputs}
    assert all(it in shown | inputs for step in all_steps(flow) for it in step.consumes)


def scanned(w, x):
    def body(carry, row):
        new = jnp.tanh(carry @ w + row)
        return new, new.sum()

    return jax.lax.scan(body, jnp.zeros(3), x, reverse=True)


def test_a_scan_shows_its_body_its_settings_and_what_crosses():
    args, axes = (jnp.ones((3, 3)), jnp.ones((7, 3))), {"x": "time feat"}
    report = audit_callable(scanned, args, {}, axes=axes, rules=())
    (flow,), (scan,) = report.data_flow, report.transformation_stack
    (line,) = [it for it in flow.steps if it.kind == "scan"]
    assert [it.text for it in line.children] == [
        "new = jnp.tanh(carry @ w + row)",
        "return new, new.sum()",
    ]
    assert (scan.kind, scan.name) == ("scan", "body")
    assert dict(scan.settings)["length"] == "7"
    assert dict(scan.settings)["direction"] == "backward"
    assert "scans over time" in scan.effects
    crossed = {(it.role, it.name): (str(it.before), str(it.after)) for it in report.shape_trace}
    assert crossed[("scanned", "x")] == ("f32[time=7,feat=3]", "f32[feat=3]")
    assert crossed[("closed over", "w")][0].startswith("f32[")
    assert {role for role, _ in crossed} == {
        "carry",
        "scanned",
        "closed over",
        "final carry",
        "stacked",
    }


def mapped(w, x):
    per_example = jax.vmap(jax.grad(lambda w, row: jnp.sum((row * w) ** 2)), in_axes=(None, 0))
    return per_example(w, x)


def test_transformations_nest_and_say_what_they_do_to_axes():
    report = audit_callable(
        mapped, (jnp.ones(3), jnp.ones((5, 3))), {}, axes={"x": "batch feat"}, rules=()
    )
    (vmap,) = report.transformation_stack
    assert vmap.kind == "vmap"
    assert "maps batch away" in vmap.effects
    assert dict(vmap.settings)["in_axes"] == "(w: None, row: 0)"
    (grad,) = vmap.children
    assert grad.kind == "grad"
    assert grad.effects == ("differentiates f32[] with respect to w",)


def scaled(w, x):
    return jax.lax.pmean(x * w, "device")


@pytest.mark.parametrize("around", [lambda f: lambda w, x: f(w, x), jax.jit, lambda f: f])
def test_a_pmap_is_shown_as_one(around):
    if not hasattr(jax.pmap(scaled), "__wrapped__") and around(scaled).__name__ == "scaled":
        pytest.skip("this JAX does not say what a pmap is made from")
    mapped = jax.pmap(scaled, axis_name="device", in_axes=(None, 0), out_axes=None)
    axes = {"x": "replica feat"} if around is not jax.jit else None
    report = audit_callable(around(mapped), (jnp.ones(3), jnp.ones((4, 3))), {}, axes=axes)
    every = [it for outer in report.transformation_stack for _, it in outer.walk()]
    (pmap,) = [it for it in every if it.kind != "jit"]
    assert (pmap.kind, pmap.name) == ("pmap", "scaled")
    settings = dict(pmap.settings)
    assert settings["in_axes"] == "(w: None, x: 0)"
    assert (settings["out_axes"], settings["devices"]) == ("None", "4")
    assert settings["axis_name"] == "'device'"
    gone = "replica" if axes else "axis 0 (size 4)"
    assert f"maps {gone} away, an element for each device" in pmap.effects
    assert "gives every device the same w" in pmap.effects


def test_the_name_that_pmap_makes_up_for_its_axis_is_not_shown():
    report = audit_callable(lambda x: jax.pmap(jnp.sin)(x), (jnp.ones((4, 3)),), {})
    (pmap,) = report.transformation_stack
    assert pmap.kind == "pmap"
    assert "axis_name" not in dict(pmap.settings)
    assert "_internal" not in str(report)


def test_transformations_of_transformations_are_shown():
    audited = jax.jit(jax.vmap(jax.grad(lambda row: jnp.sum(row**2))))
    report = audit_callable(audited, (jnp.ones((4, 3)),), {}, rules=())
    every = [it.kind for outer in report.transformation_stack for _, it in outer.walk()]
    assert every == ["jit", "vmap", "grad"]


def test_jits_of_libraries_are_no_transformations_of_the_user():
    @jax.jit
    def own(x):
        return jnp.where(x > 0, x, 0.0)

    report = audit_callable(lambda x: jnp.clip(own(x), 0, 1), (jnp.ones(3),), {}, rules=())
    assert [(it.kind, it.name) for it in report.transformation_stack] == [("jit", "own")]


# --- files that change


def test_the_same_code_in_two_files_is_told_apart():
    """Python holds code to be equal whatever its file: a cache must not."""
    text = "def double(x):\n    twice = x + x\n    return twice\n"

    def places(file: str) -> set[str]:
        module: dict[str, object] = {"__name__": "program"}
        exec(compile(text, file, "exec"), module)
        steps = all_steps(flow_of(module["double"], jnp.ones(2)))
        return {step.place.file for step in steps if step.place is not None}

    assert (places("/one.py"), places("/other.py")) == ({"/one.py"}, {"/other.py"})


def test_a_file_that_was_edited_is_read_again(tmp_path):
    path = tmp_path / "program.py"

    def line(name: str) -> str:
        text = f"def double(x):\n    {name} = x + x\n    return {name}\n"
        path.write_text(text)
        module: dict[str, object] = {"__name__": "program"}
        exec(compile(text, str(path), "exec"), module)
        return all_steps(flow_of(module["double"], jnp.ones(2)))[0].text

    assert [line("twice"), line("sum_of_both")] == ["twice = x + x", "sum_of_both = x + x"]
