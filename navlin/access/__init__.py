"""Authentication and authorization: users with a role, their passwords, and tokens for programs."""
