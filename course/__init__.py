"""What the lessons need: the registry of steps, data, ranks under mpirun, figures and the headless runner."""
