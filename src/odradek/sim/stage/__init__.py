"""A world and the machines in it, with what each of them runs."""
