"""Installable files of navlin: a deb, an RPM, a bundle for hosts without internet, and an image, from one description."""
