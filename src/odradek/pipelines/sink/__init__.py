"""The sink `odradek`: rows of Spark into topics, idempotently, with the options of Spark's own."""
