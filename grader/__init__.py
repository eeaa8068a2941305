"""The judge: runs a learner's script under several ranks, and compares what it does with what the solution does."""
