"""Judges the hunt: a diagnosis against the case's own, and a repair by what the job does after it."""
