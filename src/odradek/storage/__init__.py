"""One partition's log, and many of them on several disks: plain calls on the Disk door."""
