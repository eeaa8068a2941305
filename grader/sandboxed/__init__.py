"""All that shares a process with a learner's code: nothing here decides anything, and nothing from here is trusted."""
