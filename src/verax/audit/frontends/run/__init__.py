"""A program that runs: which functions it transforms, and what it calls them with.

`watching.py` learns of calls, `calls.py` says what a call is and how two of them differ,
`recorder.py` remembers them, `copies.py` keeps the contents of their arguments, `script.py` runs
a program as Python would, and `auditing.py` has what was seen audited afterwards. Nothing of it may
change what the program does: a failure of ours is a note in the report.

What was seen is kept for later: `keeping.py` makes `observations.py` of it, `stored_json.py` writes
them as text, `store.py` into the folder `FOLDER`, and `since.py` says what still holds of them.
"""

FOLDER = ".verax"
