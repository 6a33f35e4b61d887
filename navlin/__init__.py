"""navlin: metadata and lineage of a Hadoop and Spark estate, in Solr."""
