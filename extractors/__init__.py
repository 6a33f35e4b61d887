"""One module a system; each registers itself. A module whose name begins with an underscore is a shared part."""
