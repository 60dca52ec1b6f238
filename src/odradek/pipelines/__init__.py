"""Topics in Spark through PySpark: a session, the source `odradek`, sinks, pipelines in files.

`session` starts Spark; `source` is what Spark calls for `format("odradek")`; `reading` fetches a
range of offsets as Arrow columns, without Spark; `decoding` turns fetched bytes into columns.
Everything here needs the extra `spark`. Nothing but the command imports it.
"""

from odradek.pipelines.session import session

__all__ = ["session"]
