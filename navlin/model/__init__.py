"""The lowest layer: entities, relations, plans and sources. Imports nothing else of navlin, nor Spark or Solr."""
