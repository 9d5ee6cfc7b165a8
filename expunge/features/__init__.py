"""Maps from records to rows that no private record shaped. Knows no loss and no certificate."""
