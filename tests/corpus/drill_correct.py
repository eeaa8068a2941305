"""Correct files of drill 1: the right diagnosis and a repair, written in other ways."""

from tests.corpus.variant import right

MOVED = 'lines = ["callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))"]\n'

CORRECT = (
    right(301, "the solution of drill 1", in_ci=True)(),
    right(301, "a line next to the fault, as a text")(("line = 203", 'line = "line 202"')),
    right(301, "the place where the line was missing")(("line = 203", "line = 193")),
    right(301, "capital letters")(('cause = "moved_in"', 'cause = "MOVED_IN"')),
    right(301, "one edit, in which the lists are joined")(
        (
            MOVED,
            'lines = ["callbacks += [hvd.callbacks.BroadcastGlobalVariablesCallback(root_rank=0)]"]\n',
        )
    ),
    right(301, "the callback stays where it was, and is added on all ranks")(
        (MOVED, "lines = []\n"),
        (
            "first = 203\nlast = 203\nlines = []\n",
            "first = 203\nlast = 203\n"
            'lines = ["callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback(0))"]\n',
        ),
    ),
    right(301, "notes of the learner's own")(("\nseed", "\nfirst_guess = 17\nseed")),
)
