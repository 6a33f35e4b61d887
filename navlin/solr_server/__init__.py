"""The embedded Solr: fetching the jars, and starting and stopping the server. Independent of the indexed content."""
