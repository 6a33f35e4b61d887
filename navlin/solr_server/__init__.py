"""The embedded Solr: its jars, starting it, watching it and stopping it. It knows nothing of what is indexed."""
