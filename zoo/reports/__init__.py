"""Read run folders without trusting them, and make one HTML page or one table of them."""
