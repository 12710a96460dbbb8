"""What calls cost: prices, billing and budgets."""
