"""What the chapters measure: functions that return tables."""
