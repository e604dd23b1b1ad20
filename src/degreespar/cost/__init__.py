"""What a private answer will cost, before anything runs."""
