"""What can be typed: nouns and options, numbers, moments, rules; and how an error is said."""
