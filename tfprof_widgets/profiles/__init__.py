"""What a user holds: a profile, a comparison of two, a scaling of several; how they are made."""
