"""Wrong scripts of step 22, predict.py, each with the check that has to notice it."""

from tests.corpus.prediction_passages import COMMUNICATION, DOUBLING, FIT, GATHER, RING, ROW, SOLVED, STEP, TREE
from tests.corpus.variant import after, wrong


def _ring(pair):
    return RING, f'        "ring": {pair},\n'


WRONG = (
    wrong(22, "nothing done at step 22", base="scaling/predict_starter.py", check="ring", in_ci=True)(),
    wrong(22, "one half of the ring", check="ring")(_ring("(ranks - 1, 1 / ranks)")),
    wrong(22, "N messages per half", check="ring")(_ring("(2 * ranks, 1 / ranks)")),
    wrong(22, "the whole array in each message of the ring", check="ring", in_ci=True)(_ring("(2 * (ranks - 1), 1)")),
    wrong(22, "chunks of an array cut into N - 1", check="ring")(_ring("(2 * (ranks - 1), 1 / max(1, ranks - 1))")),
    wrong(22, "the latency once", check="ring")(
        (COMMUNICATION, "    communication = alpha + number * share * gradient_bytes * beta\n")
    ),
    wrong(22, "no latency", check="ring")(
        (COMMUNICATION, "    communication = number * share * gradient_bytes * beta\n")
    ),
    wrong(22, "beta as a rate", check="ring")(
        (COMMUNICATION, "    communication = number * (alpha + share * gradient_bytes / beta)\n")
    ),
    wrong(22, "bits in place of bytes", check="ring")(
        (COMMUNICATION, "    communication = number * (alpha + share * gradient_bytes * 8 * beta)\n")
    ),
    wrong(22, "one rank divides by zero", check="ring")(_ring("(2 * (ranks - 1), (ranks - 1) / (ranks - 1) / ranks)")),
    wrong(22, "a tree with one way", check="algorithms")((TREE, '        "tree": (levels, 1),\n')),
    wrong(22, "recursive doubling there and back", check="algorithms")(
        (DOUBLING, '        "recursive_doubling": (2 * levels, 1),\n')
    ),
    wrong(22, "natural logarithms", check="algorithms")(
        ("    levels = (ranks - 1).bit_length()  # log2, rounded up\n", "    levels = float(np.log(ranks))\n")
    ),
    wrong(22, "gathered, and not sent back", check="algorithms")(
        (GATHER, '        "gather_and_broadcast": (ranks - 1, 1),\n')
    ),
    wrong(22, "all algorithms are rings", check="algorithms")(
        ("messages(ranks, algorithm)\n    communication", "messages(ranks)\n    communication")
    ),
    wrong(22, "an algorithm has another name", check="algorithms")(('"tree"', '"binomial"')),
    wrong(22, "nothing is hidden", check="overlap", in_ci=True)((STEP, "    return compute + communication\n")),
    wrong(22, "everything is hidden", check="overlap")((STEP, "    return max(compute, communication)\n")),
    wrong(22, "less than the computation", check="overlap")(
        (STEP, "    return compute + communication - overlap * compute\n")
    ),
    wrong(22, "a share of the communication is hidden", check="overlap")(
        (STEP, "    return compute + (1 - overlap) * communication\n")
    ),
    wrong(22, "no computation", check="overlap")((STEP, "    return max(0, communication - overlap * compute)\n")),
    wrong(22, "the computation is divided by the ranks", check="overlap")(
        (STEP, "    return compute / ranks + max(0, communication - overlap * compute / ranks)\n")
    ),
    wrong(22, "beta first", check="fitting")(("return float(alpha), float(beta)", "return float(beta), float(alpha)")),
    wrong(22, "the rate in place of beta", check="fitting", in_ci=True)(
        ("return float(alpha), float(beta)", "return float(alpha), 1 / float(beta)")
    ),
    wrong(22, "the number of messages is left out of the fit", check="fitting")(
        (ROW, "        rows.append([1 / seconds, share * size / seconds])\n")
    ),
    wrong(22, "the line through the smallest and the largest array, without the ranks", check="fitting")(
        (
            FIT,
            "    (s, _, t), (s2, _, t2) = min(measured), max(measured)\n"
            "    beta = (t2 - t) / (s2 - s)\n    return t - beta * s, beta\n",
        )
    ),
    wrong(22, "no latency in the fit", check="fitting")(
        (SOLVED, "    alpha, beta = 0.0, np.mean([1 / row[1] for row in rows])\n")
    ),
    wrong(22, "fit returns nothing", check="fitting")(("    return float(alpha), float(beta)\n", "")),
    wrong(22, "fit prints and returns a text", check="fitting")(
        ("return float(alpha), float(beta)", 'return f"{alpha} {beta}"')
    ),
    wrong(22, "step_seconds returns nothing", check="ring")((STEP, "    print(compute + max(0, communication))\n")),
    wrong(22, "milliseconds", check="ring")((STEP, f"    return 1000 * ({STEP.strip().removeprefix('return ')})\n")),
    wrong(22, "a missing import", fails=0)(("import numpy as np\n", "import numpie as np\n")),
    wrong(22, "no function fit", fails=0)(("def fit(", "def fit_network(")),
    wrong(22, "a syntax error", fails=0)(("def fit(measured):", "def fit(measured)")),
    wrong(22, "an endless loop when it is imported", fails=0)(after(STEP, "\n\nwhile True:\n    pass\n")),
)
