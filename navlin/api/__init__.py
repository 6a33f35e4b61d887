"""navlin over HTTP. Questions go to `navlin.query`; runs are only requested, from `navlin serve`."""
