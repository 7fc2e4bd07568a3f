"""The programs, by where their fault sits; importing a module registers those in it."""
