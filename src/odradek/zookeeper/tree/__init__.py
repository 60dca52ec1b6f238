"""The znodes, their watches, ACLs and quotas, and how changes are written down."""
