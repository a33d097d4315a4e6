"""Whatever a file holds: no crash, and an end."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.audit.source.engine import Options, audit_paths

from .mutations import mutated


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=20_000)
@given(files=st.dictionaries(st.sampled_from("abc"), mutated(), min_size=1))
def test_mutated_files_are_audited_without_a_failure(tmp_path_factory, files: dict[str, bytes]):
    folder: Path = tmp_path_factory.mktemp("files")
    for name, data in files.items():
        (folder / f"{name}.py").write_bytes(data)
    report = audit_paths([str(folder)], Options(jobs=1, cache=False))
    assert not [note for note in report.notes if "verax itself failed" in note]
    assert str(report)
