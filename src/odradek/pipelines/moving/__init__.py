"""What moves data: topic to table (`archive`, `backfill`), table to topic (`replay`), and back.

Each verb is a function of plain arguments; a pipeline file and the command line only fill them in.
The driver plans ranges of offsets and commits, tasks of Spark read, write and say which files they
wrote: no row enters the JVM. The table alone says what comes next, so that there is no state to
lose but the table.
"""
