"""Who may do what: what requests need, and the rules, kept in ZooKeeper, that allow it."""
