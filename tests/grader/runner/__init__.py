"""Tests of running a script."""
