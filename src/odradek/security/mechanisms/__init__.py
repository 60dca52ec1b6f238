"""The mechanisms of SASL, from either end."""
