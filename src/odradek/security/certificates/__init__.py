"""Certificates: their names, their files, and contexts of TLS made of them."""
