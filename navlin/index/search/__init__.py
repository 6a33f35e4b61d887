"""Users' queries: their fields and trees, printed for Solr, and searches by them."""
