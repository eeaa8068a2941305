"""Tests of the machinery that only the course itself uses."""
