"""What another package adds to expunge; nothing in expunge knows of it."""
