"""Laboratory runs: small models that are really trained, with planted faults and written truth.

`lists.py` is the written list of what is drawn at random, `plan.py` draws, `training/` trains (the only part
that needs torch), `labels.py` derives the truth from the run and its fault-free twin, `files.py` writes logs.
"""
