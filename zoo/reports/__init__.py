"""Read run folders without trust, and make an HTML page or a table of them."""
