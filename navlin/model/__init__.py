"""The lowest layer: entities, relations, plans and sources. It imports no other package of navlin, and neither Spark
nor Solr."""
