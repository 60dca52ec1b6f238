"""Verbs that run servers on this machine, or mend what a server reads."""
