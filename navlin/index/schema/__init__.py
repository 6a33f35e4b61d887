"""The content of the index: its fields, the stored form of documents, and envelopes."""
