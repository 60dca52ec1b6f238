"""Files of a log dir: their names, their formats, how they are written, and what a failure does."""
