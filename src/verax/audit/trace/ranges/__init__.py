"""Value ranges: an interval for every value of a program."""

from __future__ import annotations

from .analysis import Ranges as Ranges
from .interval import Interval as Interval
from .interval import Point as Point
