"""Tests of what the steps ask for."""
