"""What people read: tables, progress, questions, records as JSON."""
