"""A report as text, one module a format; each has `render(report) -> str`."""
