"""What people, and programs in their name, write into the index: over `navlin.index` alone."""
