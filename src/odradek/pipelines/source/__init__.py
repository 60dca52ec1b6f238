"""The source `odradek` for Spark: batch and streaming, with the options of its "kafka" source."""
