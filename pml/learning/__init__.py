"""What traces teach: priorities, temporal differences, life cycle."""
