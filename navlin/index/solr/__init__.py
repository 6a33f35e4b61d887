"""Solr itself: its address and connection, requests, and the syntax of its queries."""
