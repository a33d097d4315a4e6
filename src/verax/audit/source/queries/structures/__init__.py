"""Trees: their classes, their structure, and what crosses boundaries as one."""
