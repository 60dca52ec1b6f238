"""The rows of the settings table, one module per subject."""
