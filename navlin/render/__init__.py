"""Views for people at a terminal: trees and tables that are readable at 80 columns and without colour."""
