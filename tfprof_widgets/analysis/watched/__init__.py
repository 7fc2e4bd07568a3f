"""Steps of a training that is watched -> levels of detail, what is odd in them, what came out."""
