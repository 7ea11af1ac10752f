"""What estimators share."""
