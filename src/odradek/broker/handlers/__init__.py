"""The APIs, one module each.

What a request asks for is said to the parts of the broker, and their word is put into a response.
`API` in each module is its row in the table of `apis`.
"""
