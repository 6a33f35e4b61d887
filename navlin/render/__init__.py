"""Views for people at a terminal: trees and tables that are readable at 80 columns and without colour."""

from navlin.render.edits import edited_view, history_view
from navlin.render.entity import show_view
from navlin.render.found import search_view
from navlin.render.graph import lineage_view
from navlin.render.impact import impact_view

__all__ = [
    "edited_view",
    "history_view",
    "impact_view",
    "lineage_view",
    "search_view",
    "show_view",
]
