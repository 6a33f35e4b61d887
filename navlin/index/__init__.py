"""The index in Solr. No other package knows Solr's documents and requests."""
