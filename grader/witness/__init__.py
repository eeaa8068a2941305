"""Ranks of the course's own that train together with a submission's: what they see is no word of the submission's."""
