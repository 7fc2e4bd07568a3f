"""The versions of TensorFlow and of what else is needed -> whether a training can be captured, loaded and shown with each."""
