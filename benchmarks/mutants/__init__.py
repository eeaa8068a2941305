"""All mutants of grader.mutants, judged.

One that the judge fails is killed. One that it passes has to be in EQUIVALENTS, with the reason why it does what the step
asks for; otherwise the judge overlooks something.
"""
