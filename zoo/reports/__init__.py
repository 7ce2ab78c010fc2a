"""Read run folders without trusting them, and write an HTML page or a table about them."""
