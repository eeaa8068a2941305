"""Correct files of drill 1: the right diagnosis and a repair, written in other ways."""

from tests.corpus.variant import right

ADDED = 'lines = ["callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))"]\n'

CORRECT = (
    right(301, "the solution of drill 1", in_ci=True)(),
    right(301, "a line next to the fault, as a text")(("line = 193", 'line = "line 194"')),
    right(301, "capital letters")(('cause = "peeled"', 'cause = "PEELED"')),
    right(301, "the lists are joined")(
        (ADDED, 'lines = ["callbacks += [hvd.callbacks.BroadcastGlobalVariablesCallback(root_rank=0)]"]\n')
    ),
    right(301, "two edits, one of which takes the line away")(
        (
            f"first = 193\nlast = 193\n{ADDED}",
            f"first = 193\nlast = 193\nlines = []\n\n[[edit]]\nfirst = 195\nlast = 194\n{ADDED}",
        )
    ),
    right(301, "notes of the learner's own")(("\nseed", "\nfirst_guess = 17\nseed")),
)
