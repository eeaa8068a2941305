"""Passages of step 22's solution that its corpus replaces."""

from tests.corpus.variant import passage

SOLUTION = "scaling/predict.py"

TABLE = passage(SOLUTION, "    levels = ", "}[algorithm]")
RING = passage(SOLUTION, '"ring": (')
TREE = passage(SOLUTION, '"tree": (')
GATHER = passage(SOLUTION, '"gather_and_broadcast": (')
DOUBLING = passage(SOLUTION, '"recursive_doubling": (')
FIT = passage(SOLUTION, "    rows = []", "return float(alpha)")
ROW = passage(SOLUTION, "rows.append(")
SOLVED = passage(SOLUTION, "(alpha, beta), *_ = ")
COMMUNICATION = passage(SOLUTION, "communication = number")
STEP = passage(SOLUTION, "return compute + max")
