"""The world of several brokers, with all that goes wrong in one."""
