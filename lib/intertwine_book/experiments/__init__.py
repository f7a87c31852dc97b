"""The chapters' experiments: functions that return tables."""
