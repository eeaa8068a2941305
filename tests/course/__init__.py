"""Tests of the course: what lessons and solutions import, and the programs in solutions/."""
