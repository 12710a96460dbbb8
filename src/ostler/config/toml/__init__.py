"""The text of settings files: positions of keys, and changes that keep the rest."""
