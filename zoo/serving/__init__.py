"""A server of models: workers that stay, a queue before each, HTTP and a page before them."""
