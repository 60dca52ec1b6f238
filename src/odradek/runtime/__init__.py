"""The real world behind the doors: files, sockets, the clock, SQLite, signals."""
