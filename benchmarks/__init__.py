"""What the course costs: set-up, a whole run, and how well the finished program scales. Run by scripts/bench."""
