"""What `navlin serve` runs: the schedule and the web process."""
