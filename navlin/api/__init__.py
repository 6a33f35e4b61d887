"""navlin over HTTP. What is asked goes to `navlin.query`; what is to be run is only requested, of `navlin serve`."""
