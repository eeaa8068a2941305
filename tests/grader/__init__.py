"""Tests of the judge, a folder per room."""
