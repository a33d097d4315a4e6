"""Whatever a file holds: no crash, and an end."""

import ast
import random
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options, audit_paths

from .mutations import REAL_FILES, mutated
from .rewriting import rewritten


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=20_000)
@given(files=st.dictionaries(st.sampled_from("abc"), mutated(), min_size=1))
def test_mutated_files_are_audited_without_a_failure(tmp_path_factory, files: dict[str, bytes]):
    folder: Path = tmp_path_factory.mktemp("files")
    for name, data in files.items():
        (folder / f"{name}.py").write_bytes(data)
    report = audit_paths([str(folder)], Options(jobs=1, cache=False))
    assert not [note for note in report.notes if "verax itself failed" in note]
    assert str(report)


@settings(max_examples=settings().max_examples // 2, suppress_health_check=list(HealthCheck))
@given(path=st.sampled_from(REAL_FILES), seed=st.integers(0, 2**32), times=st.integers(1, 12))
def test_rewritten_programs_are_gone_through(path: Path, seed: int, times: int):
    """As `verax audit` would, but that a rule which fails is a failure here."""
    try:
        text = rewritten(path.read_text(), random.Random(seed), times)
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        assume(False)
        return
    audit_text(text, strict=True)
