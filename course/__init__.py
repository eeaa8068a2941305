"""The course: what lessons and solutions import, the registry of steps, figures, and the headless runner.

Machinery that only the course itself uses is in course.internal.
"""
