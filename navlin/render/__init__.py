"""Answers for people at a terminal: trees and tables that can be read at 80 columns and without colour."""

from navlin.render.edits import edits_view
from navlin.render.entity import show_view
from navlin.render.found import search_view, unclear_name_view
from navlin.render.graph import lineage_view

__all__ = ["edits_view", "lineage_view", "search_view", "show_view", "unclear_name_view"]
