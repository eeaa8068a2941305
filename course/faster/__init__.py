"""Measurements of a training before and after a change: its exchange, its computation, its input and its batch."""
