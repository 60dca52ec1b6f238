"""Coordinators over the internal topics that keep their records."""
