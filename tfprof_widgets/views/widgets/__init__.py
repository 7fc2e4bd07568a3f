"""The widgets, and the models that they share."""
