"""What waits for room. The clock of a vector is moved on by the wait, so that nothing sleeps."""
