"""Views: results -> linked widgets and the packs they draw from."""
