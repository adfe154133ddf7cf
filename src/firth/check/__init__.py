"""Which system is better on the user's own text, found without a label."""
