"""Tests of the instructor's side."""
