"""What a user would pick instead, measured beside us: each peer in an environment of its own."""
