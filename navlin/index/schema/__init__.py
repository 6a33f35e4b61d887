"""What the index stores: its fields, the stored form of documents, and envelopes."""
