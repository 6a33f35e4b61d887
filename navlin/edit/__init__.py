"""What people write into the index: over `navlin.index` alone."""
