"""Who may ask, edit and run: users with a role, their passwords, and tokens for programs."""
