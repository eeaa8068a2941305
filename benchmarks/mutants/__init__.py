"""All mutants of grader.mutants, judged.

One that the judge fails is killed. One that it passes has to be in EQUIVALENTS, with the reason why it does what the
step asks for; otherwise the judge overlooks something.
"""

from course.steps import Step
from grader import checks

# Of a capstone, which changes a whole program, and of a shell script, the corpus alone holds mistakes.
GRADED: tuple[Step, ...] = tuple(
    step for step in checks.STEPS if not step.is_capstone and step.solution.suffix == ".py"
)
