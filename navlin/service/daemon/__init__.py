"""The schedule and the web process of `navlin serve`."""
