"""Rules of a cluster turned into wrong ones, each to be noticed."""
