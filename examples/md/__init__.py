"""Lennard-Jones molecular dynamics whose buffers start far too small and grow while it runs.

| module | what it holds |
| --- | --- |
| `state` | what a step changes: positions, velocities, forces, random key, neighbour list |
| `neighbours` | which atoms are near which, found with cells; the three capacities |
| `potential` | Lennard-Jones energies and forces |
| `integrators` | one step of time: NVE, or coupled to a heat bath |
| `simulation` | from settings to the functions that a run is made of |
| `run` | a run in a folder: record, save, resume |
| `checkpoints` | a run that was interrupted goes on as if it had not been |
| `records` | energies and repairs, as files and as a plot |

`python -m examples.md --help` says how to run it.
"""
