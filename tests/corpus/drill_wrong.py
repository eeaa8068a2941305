"""Wrong files of drill 1, each with the check that is the first to fail."""

from course.steps import get
from tests.corpus.drill_correct import ADDED
from tests.corpus.variant import wrong

WRONG = (
    wrong(301, "nothing done at drill 1", check="line", base=get(301).starter_name)(),
    wrong(301, "another line", check="line", in_ci=True)(("line = 193", "line = 100")),
    wrong(301, "a line that the program does not have", check="line")(("line = 193", "line = 9999")),
    wrong(301, "no line", check="line")(("line = 193", 'line = ""')),
    wrong(301, "another cause", check="cause")(('cause = "peeled"', 'cause = "moved_far"')),
    wrong(301, "a cause that is not among the choices", check="cause")(('cause = "peeled"', 'cause = "bad luck"')),
    wrong(301, "diagnosed, and not mended", check="repaired", in_ci=True)((ADDED, "lines = []\n")),
    wrong(301, "mended with the weights of another rank", check="repaired")(
        (ADDED, ADDED.replace("Callback(0)", "Callback(1)"))
    ),
    wrong(301, "an edit beyond the end of the program", check="repaired")(("first = 193", "first = 19300")),
    wrong(301, "the fault of another seed", check="line")(("seed = 855819", "seed = 855820")),
    wrong(301, "a fault that the seed does not give", check="line")(("04-peeled-8929b89b", "01-deleted-00000000")),
    wrong(301, "the end of a table is missing", fails=0)(("[[edit]]", "[[edit]")),
)
