"""What traces teach: priorities, temporal differences, life cycle, reliability of tools."""
