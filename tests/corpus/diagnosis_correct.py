"""Correct diagnoses of the three jobs that hang, step 6b: the same answers, written in other ways."""

from tests.corpus.variant import right

CORRECT = (
    right(206, "the solution of step 6b", in_ci=True)(),
    right(206, "numbers as texts")(("rank = 1", 'rank = "1"'), ("line = 26", 'line = "26"')),
    right(206, "words before the numbers")(
        ("rank = 1", 'rank = "rank 1"'), ("line = 26", 'line = "line 26"'), ("line = 27", 'line = "job_3.py:27"')
    ),
    right(206, "capital letters")(('"allreduce"', '"Allreduce"'), ('"broadcast"', "'BROADCAST'")),
    right(206, "functions' names")(
        ('"allreduce"', '"hvd.allreduce"'),
        ('"allgather"', '"hvd.allgather()"'),
        ('"broadcast"', '"broadcast_variables"'),
    ),
    right(206, "the names in Horovod's warning")(
        ('"allreduce"', '"DistributedSGD_Allreduce"'), ('"allgather"', '"HorovodAllgather"')
    ),
    right(206, "words joined otherwise")(
        ('"allreduce"', '"all-reduce of the gradients"'), ('"allgather"', '"all_gather"')
    ),
    right(206, "the line that calls the function")(("line = 16", "line = 29")),
    right(206, "the line of the condition")(("line = 16", "line = 28")),
    right(206, "the first line of the loop")(("line = 27", "line = 26")),
    right(206, "other order, spaces and comments")(
        ("[job_1]\nrank = 1\nline = 26\n", "[ job_1 ]  # the share of rank 1 is smaller\nline=26\n  rank   = 1\n"),
    ),
    right(206, "tables of one line")(
        ('[job_1]\nrank = 1\nline = 26\ncollective = "allreduce"\n', ""),
        ("# Three jobs", 'job_1 = {rank = 1, line = 26, collective = "allreduce"}\n# Three jobs'),
    ),
    right(206, "Windows line ends")(("\n", "\r\n")),
    right(206, "notes of the learner's own")(
        ("[job_2]\n", '[job_2]\nwhy = "evaluate is under an if"\n'), ("[job_1]", "[notes]\na = 1\n[job_1]")
    ),
)
