"""Machinery of the course itself: process reaper, resource meter, simulated hosts and GPUs.

Lessons and solutions import nothing from here.
"""
