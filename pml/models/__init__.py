"""SHGAT and its layers."""
