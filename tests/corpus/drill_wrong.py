"""Wrong files of drill 1, each with the check that is the first to fail."""

from course.steps import get
from tests.corpus.drill_correct import MOVED
from tests.corpus.variant import wrong

WRONG = (
    wrong(301, "nothing done at drill 1", check="line", base=get(301).starter_name)(),
    wrong(301, "another line", check="line", in_ci=True)(("line = 203", "line = 100")),
    wrong(301, "a line that the program does not have", check="line")(("line = 203", "line = 9999")),
    wrong(301, "no line", check="line")(("line = 203", 'line = ""')),
    wrong(301, "another cause", check="cause")(('cause = "moved_in"', 'cause = "deleted"')),
    wrong(301, "a cause that is not among the choices", check="cause")(('cause = "moved_in"', 'cause = "bad luck"')),
    wrong(301, "diagnosed, and not mended", check="repaired", in_ci=True)((MOVED, "lines = []\n")),
    wrong(301, "mended with the weights of another rank", check="repaired")(
        (MOVED, MOVED.replace("Callback(0)", "Callback(1)"))
    ),
    wrong(301, "an edit beyond the end of the program", check="repaired")(("first = 203", "first = 20300")),
    wrong(301, "the fault of another seed", check="line")(("seed = 888267", "seed = 888268")),
    wrong(301, "a fault that the seed does not give", check="line")(("04-moved-in-aa8f79f7", "01-deleted-00000000")),
    wrong(301, "the end of a table is missing", fails=0)(("[[edit]]", "[[edit]")),
)
