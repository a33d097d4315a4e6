"""`verax.audit` is a package and a function."""

import jax
import jax.numpy as jnp
import pytest

import verax
from verax.audit import AuditError, Report

from .sample import ISSUE, REPORT


def double(x, *, by=2):
    return x * by


def test_calling_the_package_audits_a_function():
    report = verax.audit(double, jnp.ones(3), axes={"x": "n"}, ranges={"x": (0, 1)}, by=3)
    assert isinstance(report, Report)
    assert report.target == f"{__name__}:double"


def test_shapes_are_enough():
    report = verax.audit(double, jax.ShapeDtypeStruct((3,), "float32"))
    assert report.issues == ()


def test_an_object_without_a_name_is_called_by_its_class():
    class Step:
        def __call__(self, x):
            return x

    assert verax.audit(Step(), 1.0).target == f"{__name__}:Step"


def test_the_package_is_still_one():
    assert verax.audit.Report is Report
    assert verax.audit.__name__ == "verax.audit"
    assert "a function" not in repr(verax.audit)


def test_raise_issues_lists_them():
    with pytest.raises(AuditError) as error:
        REPORT.raise_issues()
    assert str(error.value).startswith(
        "train.py:step: 2 issues\n"
        "train.py:41: AX001 Axes that mean different things meet\n"
        "    `x + y` adds"
    )
    with pytest.raises(AuditError) as error:
        REPORT.raise_issues(verax.audit.Confidence.CERTAIN)
    assert error.value.issues == (ISSUE,)
    Report("fine").raise_issues()
