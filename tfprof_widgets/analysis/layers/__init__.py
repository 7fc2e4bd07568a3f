"""Framework ops -> name scopes and Keras layers, forward, backward and optimizer apart."""
