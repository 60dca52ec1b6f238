"""The settings: one row each, a parser for where they are written, and what overrides what.

`sources` gathers what a file, the environment and the command line say; `sources.load` makes a
`BrokerConfig` of it or refuses with all errors at once; `dynamic` changes it at run time;
`config.topic_defaults` with a topic's own settings over it is a `TopicConfig`. Rows are in `rows/`.
"""
