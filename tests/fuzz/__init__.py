"""Seeded draws of damaged input, each in a process of its own.

``server.py`` forks a child per draw and tells which draws failed; ``sparse.py``, ``estimators.py`` and ``commands.py`` say
what is drawn and what must hold; ``test_fuzz.py`` runs a few of them in the fast suite and all of them in the slow one.
"""
