"""What goes wrong, by itself and in pairs, and what people do meanwhile."""
