"""The sections of the report page."""
