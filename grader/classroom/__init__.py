"""The instructor's side: nbgrader's assignments, made from the registry of steps and graded by the judge."""
