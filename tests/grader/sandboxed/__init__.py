"""Tests of what runs in a process with a script."""
