"""A hub of the simulation: a model of it in memory, and the network between it and the simulated machines."""
