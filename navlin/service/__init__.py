"""The service around the pipeline: configuration, the clock, logs, what `status` and `check` say."""
