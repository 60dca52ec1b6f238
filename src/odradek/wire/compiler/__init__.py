"""Turns the field table of a message, at one version, into straight-line Python.

`decoder` and `encoder` write the text of one function each; `source` holds what both need;
`primitives` is what the compiled functions call when the common case does not hold. No version is
looked at once a function is compiled: what a version lacks is simply not in its text.
"""
