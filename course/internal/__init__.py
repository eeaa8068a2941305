"""Machinery of the course itself: process reaper, recorder of training runs, resource meter, simulated hosts.

Lessons and solutions import nothing from here.
"""
