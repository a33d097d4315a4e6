"""The auditor: what a JAX program does, what is wrong with it, and what was proved right.

`verax.audit(function, *args)` audits one function on example arguments and returns a `Report`.
"""

import sys

from ._module import AuditModule
from .finding import Confidence as Confidence
from .finding import Engine as Engine
from .finding import Evidence as Evidence
from .finding import Finding as Finding
from .finding import Place as Place
from .finding import Severity as Severity
from .finding import Verified as Verified
from .report import AuditError as AuditError
from .report import Report as Report

# A module is called through its class; this makes `verax.audit(…)` and `verax.audit.Report` one.
sys.modules[__name__].__class__ = AuditModule
del AuditModule, sys
