"""Two runs -> what became faster or slower, how sure that is, and where."""
