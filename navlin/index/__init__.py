"""The only place that knows Solr."""
