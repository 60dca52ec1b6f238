"""The operations of OdradekAdmin, one in a module: `table.py` lists them."""
