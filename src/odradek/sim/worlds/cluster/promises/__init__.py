"""What a cluster promises, each judged for all of a run."""
