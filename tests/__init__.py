"""Tests: a folder per room, and what several of them share."""
