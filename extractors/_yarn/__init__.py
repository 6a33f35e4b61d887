"""The parts of the YARN extractor."""
