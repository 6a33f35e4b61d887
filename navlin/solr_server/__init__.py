"""The embedded Solr: fetching its jars, starting it, watching it and stopping it. Independent of the indexed content."""
