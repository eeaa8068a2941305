"""What judging needs: a learner's script is measured by what it does under several ranks, beside the solution."""
