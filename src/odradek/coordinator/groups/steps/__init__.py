"""What is done to groups: one module for one kind of request, or for what time does."""
