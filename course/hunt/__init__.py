"""The bug hunt: broken jobs as tickets, and a learner's files and progress. grader.hunt judges what they hand in."""
