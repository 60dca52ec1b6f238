"""The client for those who have no loop: tasks of Spark, and threads."""
