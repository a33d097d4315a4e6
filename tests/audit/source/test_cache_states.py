"""However a project changes, an audit with a cache tells what one without does."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from verax.audit.source.engine import audit_paths

from ...fuzz.cache import EDITS, Project

Edit = Callable[[Project, random.Random], str]


class Edited(RuleBasedStateMachine):
    """A project that is edited, and audited after each edit."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.project: Project | None = None

    @initialize(rng=st.randoms(use_true_random=False))
    def start(self, rng: random.Random) -> None:
        self.project = Project(Path(self.folder.name), rng)

    @rule(edit=st.sampled_from(EDITS), rng=st.randoms(use_true_random=False))
    def edit(self, edit: Edit, rng: random.Random) -> None:
        assert self.project is not None
        self.project.edit(edit, rng)

    @invariant()
    def warm_is_cold(self) -> None:
        if self.project is not None:
            self.project.check(sections=len(self.project.done) % 4 > 0)

    def teardown(self) -> None:
        self.folder.cleanup()


TestEdited = Edited.TestCase
TestEdited.settings = settings(
    max_examples=max(1, settings().max_examples // 10),
    stateful_step_count=20,
    suppress_health_check=list(HealthCheck),
    deadline=None,
)


def test_a_folder_that_appears_is_looked_into(tmp_path: Path, monkeypatch):
    """Without `__init__.py`: none of the files that were looked for before has changed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(
        "import jax\nfrom pkg.a import draw\n\n\n@jax.jit\ndef main(key):\n"
        "    return jax.random.normal(key), draw(key)\n"
    )
    assert [it.code for it in audit_paths(["main.py"]).issues] == ["RK001"]
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text("def draw(key):\n    return key.shape\n")
    assert not audit_paths(["main.py"]).issues
