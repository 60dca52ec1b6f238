"""The sink `odradek`: rows of Spark into topics, idempotently or in transactions."""
