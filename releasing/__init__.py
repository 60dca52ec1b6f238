"""What makes a release of a commit: `./dev release`."""
