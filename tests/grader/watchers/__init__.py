"""Tests of grader/watchers."""
