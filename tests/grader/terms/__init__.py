"""Tests of the types that rooms exchange."""
