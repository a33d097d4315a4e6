"""Right programs that look like wrong ones: they run, and neither engine reports anything.

Each was reported once. Written in other words they are as right, and what breaks one is found.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest

from verax.audit.child import Given
from verax.audit.command import audit_targets
from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options

from .source.otherwise.rewriting import NotRewrittenError, rewrite
from .source.test_otherwise import REWRITINGS

FOLDER = Path(__file__).parent / "lookalikes"
PROGRAMS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.py"))}
# The tests do without flax: these are read, and run where it is.
RUN_HERE = [name for name in PROGRAMS if name != "flax_modules" or find_spec("flax")]


@pytest.fixture(autouse=True)
def jax_as_it_comes():
    """Our suite forbids broadcasts between ranks; users live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def run(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> list[jax.Array]:
    """What a program computes from its inputs."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)  # Dataclasses look themselves up.
    exec(compile(text, name, "exec"), module.__dict__)
    return jax.tree.leaves(module.entry(*module.inputs()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_reading_a_right_program_finds_nothing(name: str):
    findings = audit_text(PROGRAMS[name], name, strict=True).findings
    assert [it for it in findings if not it.preview] == []


@pytest.mark.parametrize("name", RUN_HERE)
def test_both_engines_find_nothing_in_a_program_that_runs(name: str, monkeypatch):
    results = run(name, PROGRAMS[name], monkeypatch)
    assert results
    assert all(jnp.isfinite(leaf).all() for leaf in results)
    given = Given(inputs="inputs")
    report = audit_targets([f"{FOLDER / name}.py:entry"], given, options=Options(cache=False))
    assert [it for it in report.findings if not it.preview] == []
    assert report.data_flow


# Rewritten so, a right program is reported all the same: what says that both uses of a key are
# meant to be equal is then in another function than the uses.
LEFT = {
    "networks_and_targets": {"in_helpers", "in_two_halves"},
}


@pytest.mark.parametrize("name", RUN_HERE)
def test_in_other_words_it_is_right_as_well(monkeypatch, name: str):
    reported: set[str] = set()
    for rewriting, words in REWRITINGS.items():
        try:
            text = rewrite(PROGRAMS[name], words).text
        except (NotRewrittenError, StopIteration):
            continue
        found = [it for it in audit_text(text, name, strict=True).findings if not it.preview]
        # Keyword arguments under `in_axes`, numbers under jit: some rewritings break a program.
        if found and runs(name, text, monkeypatch):
            reported.add(rewriting)
    assert reported == LEFT.get(name, set())


def runs(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    try:
        return bool(run(name, text, monkeypatch))
    except Exception:
        return False


# What breaks them: a program, what it says, what it says then, and which rule finds that.
BROKEN = [
    (
        "averaged_counts",
        'grads = jax.lax.pmean(grads, "d',
        'grads = jax.lax.psum(grads, "d',
        "VM007",
    ),
    ("env_resets_in_step", "* (1.0 - done) * gae", "* gae", "EN002"),
    ("flags_one_step_late", "traj, reverse=True)", "traj)", "EN003"),
    ("folded_steps", "jax.random.fold_in(jax.random.key(17), step)", "jax.random.key(17)", "RK005"),
    ("keys_from_holder", "self.key, sub = jax.random.split(self.key)", "sub = self.key", "RK001"),
    ("networks_and_targets", "target = wide.init(one,", "target = narrow.init(one,", "RK001"),
    ("pairs_of_one_leaf", "moments, batch)", 'moments, {"a": batch, "b": batch})', "PT103"),
    (
        "recurrent_critic",
        "(rewards, dones, values), reverse=True)",
        "(rewards, dones, values))",
        "EN003",
    ),
    ("recurrent_critic", "        h = jnp.where(reset[:, None], 0.0, h)\n", "", "EN002"),
    ("scalar_choices", "(signs)(xs) * kept", "(signs)(xs).T * kept", "AX201"),
    ("schedule_with_sign", "lambda step: -warm(step)", "warm", "DF113"),
    ("shuffled_together", "bootstrap(keys[1], xs", "bootstrap(keys[0], xs", "RK001"),
    ("twin_critics", "critic(target2, next_obs", "critic(target1, next_obs", "DF108"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "code"), BROKEN)
def test_what_breaks_one_is_found(name: str, right: str, wrong: str, code: str):
    assert right in PROGRAMS[name]
    report = audit_text(PROGRAMS[name].replace(right, wrong), name, strict=True)
    assert code in {it.code for it in report.findings}
