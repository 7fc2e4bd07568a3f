"""Times of variants of a program -> rates, intervals and what they say."""
