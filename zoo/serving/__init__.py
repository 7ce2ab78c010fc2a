"""A model server: persistent workers, a queue per worker, HTTP and a web page."""
