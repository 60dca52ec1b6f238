"""Tables of archived records: Delta, Iceberg, Parquet; each commit says how far the table is.

`table` is the interface, `commits` the rules that hold for all three, `files` and `writing` the
Parquet files of rows, `store` the directory or bucket that they lie in.
"""
