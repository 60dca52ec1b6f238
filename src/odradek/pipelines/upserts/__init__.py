"""Tables in which the last record of each key is its row: how records change their files.

Tasks turn ranges of records into `runs`: what each does to its key, in the order of keys. Other
tasks merge runs into the files whose `keys` they may be among, and write these anew; `planning`
says who merges what, `folding` what becomes of a row and of all that happens to it. The driver
commits both, files that came and files that went, with the end offsets, as any other batch.

The rows of a file are in the order of keys, and files of a table have no keys between each other's:
so each key is looked for in one file, or in none. Nothing depends on that but the time it takes.
"""
