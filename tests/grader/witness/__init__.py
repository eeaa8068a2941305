"""Tests of grader.witness."""
