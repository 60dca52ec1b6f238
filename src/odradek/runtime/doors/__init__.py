"""The doors of `ports`, as the operating system opens them."""
