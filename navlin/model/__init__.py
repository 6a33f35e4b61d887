"""The ground floor: what entities, relations, plans and sources are. Imports nothing else of navlin, nor Spark or Solr."""
