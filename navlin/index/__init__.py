"""The only package that knows Solr."""
