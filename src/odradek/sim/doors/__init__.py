"""The doors of `ports`, as a seed opens them, and the loop on which all of it runs."""
