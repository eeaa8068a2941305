"""Wrong diagnoses of the three jobs that hang, step 6b: each with one mistake that learners make."""

from tests.corpus.variant import wrong

CORRECT_1 = '[job_1]\nrank = 1\nline = 26\ncollective = "allreduce"\n'

WRONG = (
    wrong(206, "nothing done at step 6b", base="hang/diagnosis_starter.toml", in_ci=True)(),
    wrong(206, "the rank that prints the warning", check="job_1_rank")(("rank = 1", "rank = 0")),
    wrong(206, "two ranks", check="job_1_rank")(("rank = 1", "rank = [0, 2]")),
    wrong(206, "no rank", check="job_1_rank")(("rank = 1\n", "")),
    wrong(206, "a rank in words", check="job_1_rank")(("rank = 1", 'rank = "the second"')),
    wrong(206, "a truth value", check="job_1_rank")(("rank = 1", "rank = true")),
    wrong(206, "where the others wait", check="job_1_line")(("line = 26", "line = 24")),
    wrong(206, "a line that the program does not have", check="job_1_line")(("line = 26", "line = 99")),
    wrong(206, "where the missing rank waits", check="job_1_collective")(('"allreduce"', '"allgather"')),
    wrong(206, "both collectives", check="job_1_collective")(('"allreduce"', '"allreduce, allgather"')),
    wrong(206, "no collective", check="job_1_collective")(('"allreduce"', '"fit"')),
    wrong(206, "a rank that waits with another", check="job_2_rank")(("rank = 0", "rank = 1")),
    wrong(206, "the line of the waiting ranks", check="job_2_line")(("line = 16", "line = 30")),
    wrong(206, "the collective of the missing rank", check="job_2_collective")(('"allgather"', '"allreduce"')),
    wrong(206, "the rank that writes the files", check="job_3_rank")(("rank = 2", "rank = 0")),
    wrong(206, "the line of the broadcast", check="job_3_line")(("line = 27", "line = 32")),
    wrong(206, "the collective after the broadcast", check="job_3_collective")(('"broadcast"', '"allreduce"')),
    wrong(206, "a table is missing", check="job_1_rank")((CORRECT_1, "")),
    wrong(206, "a table of another name", check="job_1_rank")(("[job_1]", "[job1]")),
    wrong(206, "a field in place of a table", check="job_1_rank")((CORRECT_1, ""), ("# Three", "job_1 = 1\n# Three")),
    wrong(206, "no quotation marks", fails=0)(('"allreduce"', "allreduce")),
    wrong(206, "a table twice", fails=0)(("[job_2]", "[job_1]")),
    wrong(206, "unfinished", fails=0)(('"broadcast"', '"broadcast')),
    wrong(206, "JSON", fails=0)(("[job_1]", '{"job_1": {}}')),
)
