"""Tests of the recorder of Keras and Horovod, and of its hooks."""
