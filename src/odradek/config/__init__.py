"""The settings: one row each, a parser for where they are written, and what overrides what."""
