"""What limits at routes of all frameworks have in common."""
