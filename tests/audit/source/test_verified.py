"""What static analysis proves, in a report of many files."""

from pathlib import Path

from verax.audit.source.engine import Options, audit_paths

SQUARE = """\
import jax

@jax.custom_vjp
def square(x):
    return x * x

square.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
"""


def test_only_the_first_of_many_claims_are_shown(tmp_path: Path):
    for number in range(20):
        (tmp_path / f"m{number:02}.py").write_text(SQUARE)
    report = audit_paths([str(tmp_path)], Options(cache=False, sections=False))
    assert len(report.verified) == 20
    text = str(report)
    assert text.count("the custom derivative of `square`") == 2
    assert "… and 18 more of GR017; --format json lists all" in text
    assert report.to_markdown().count("the custom derivative of `square`") == 2
    assert report.to_json().count("the custom derivative of `square`") == 20
