"""Correct scripts of step 22, predict.py. Each one passes."""

from tests.corpus.prediction_passages import COMMUNICATION, FIT, RING, STEP, TABLE
from tests.corpus.variant import after, right

_IF = """    levels = math.ceil(math.log2(ranks))
    if algorithm == "ring":
        return 2 * (ranks - 1), 1 / ranks
    if algorithm == "tree":
        return 2 * levels, 1
    if algorithm == "recursive_doubling":
        return levels, 1
    return 2 * (ranks - 1), 1
"""

_NORMAL_EQUATIONS = """    rows = np.array([[2 * (n - 1) / t, 2 * (n - 1) / n * s / t] for s, n, t in measured])
    alpha, beta = np.linalg.solve(rows.T @ rows, rows.T @ np.ones(len(rows)))
    return alpha, beta
"""

_UNWEIGHTED = """    rows = np.array([[2 * (n - 1), 2 * (n - 1) / n * s] for s, n, _ in measured])
    seconds = np.array([t for _, _, t in measured])
    return np.linalg.lstsq(rows, seconds, rcond=None)[0]
"""

_POLYFIT = """    x = [s / n for s, n, _ in measured]
    y = [t / (2 * (n - 1)) for _, n, t in measured]
    beta, alpha = np.polyfit(x, y, 1, w=[1 / each for each in y])
    return alpha, beta
"""

_BY_HAND = """    pairs = [(s / n, t / (2 * (n - 1))) for s, n, t in measured]
    weights = [1 / y**2 for _, y in pairs]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, pairs)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, pairs)) / total
    above = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, pairs))
    beta = above / sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, pairs))
    return mean_y - beta * mean_x, beta
"""

_SCIPY = """    def errors(logs):
        alpha, beta = np.exp(logs)
        return [np.log(step_seconds(s, n, alpha, beta, 0, 0) / t) for s, n, t in measured]

    return np.exp(least_squares(errors, [-10, -20], xtol=1e-12, ftol=1e-12, gtol=1e-12).x)
"""

_NNLS = """    rows = [[messages(n)[0] / t, messages(n)[0] * messages(n)[1] * s / t] for s, n, t in measured]
    scale = np.array(rows).max(axis=0)
    solution, _ = nnls(np.array(rows) / scale, np.ones(len(rows)))
    return tuple(solution / scale)
"""

_ONE_RANK_FIRST = """    if ranks == 1:
        return compute
    number, share = messages(ranks, algorithm)
"""

_LOOP = """    seconds, hidden = 0.0, overlap * compute
    for _ in range(number):
        seconds += alpha + beta * share * gradient_bytes
    exposed = seconds - hidden
    if exposed < 0:
        exposed = 0.0
    return compute + exposed
"""

_MAX_OF_BOTH = "    return max(compute, compute * (1 - overlap) + communication)\n"

CORRECT = (
    right(22, "the solution of step 22", in_ci=True)(),
    right(22, "an if per algorithm, and math.log2")((TABLE, _IF), ("import numpy", "import math\n\nimport numpy")),
    right(22, "normal equations")((FIT, _NORMAL_EQUATIONS)),
    right(22, "least squares without weights, returned as an array")((FIT, _UNWEIGHTED)),
    right(22, "np.polyfit over the seconds of a message", in_ci=True)((FIT, _POLYFIT)),
    right(22, "sums by hand")((FIT, _BY_HAND)),
    right(22, "scipy.optimize.least_squares of logarithms")(
        (FIT, _SCIPY), ("import numpy as np", "import numpy as np\nfrom scipy.optimize import least_squares")
    ),
    right(22, "scipy.optimize.nnls")(
        (FIT, _NNLS), ("import numpy as np", "import numpy as np\nfrom scipy.optimize import nnls")
    ),
    right(22, "the communication in a loop")((STEP, _LOOP)),
    right(22, "the maximum of both")((STEP, _MAX_OF_BOTH)),
    right(22, "one rank is a case of its own")(
        ("    number, share = messages(ranks, algorithm)\n", _ONE_RANK_FIRST),
    ),
    right(22, "the bytes of all messages together")(
        (RING, '        "ring": (2 * (ranks - 1), 2 * (ranks - 1) / ranks),\n'),
        ("(2 * (ranks - 1), 1)", "(2 * (ranks - 1), 2 * (ranks - 1))"),
        ("(2 * levels, 1)", "(2 * levels, 2 * levels)"),
        ("(levels, 1)", "(levels, levels)"),
        ("number * share * size / seconds", "share * size / seconds"),
        (COMMUNICATION, "    communication = number * alpha + share * gradient_bytes * beta\n"),
    ),
    right(22, "a list with alpha and beta, which prints what it found")(
        (
            "    return float(alpha), float(beta)\n",
            "    print(alpha, beta)\n    return [alpha, beta]\n",
        )
    ),
    right(22, "other names for the arguments")(
        ("gradient_bytes", "size"), ("compute", "computation"), ("overlap", "hidden_share")
    ),
    right(22, "rank 0 tries it when the file is run")(
        after(STEP, '\n\nif __name__ == "__main__":\n    print(step_seconds(1e8, 8, 1e-5, 1e-9, 0.2, 0.5))\n')
    ),
)
