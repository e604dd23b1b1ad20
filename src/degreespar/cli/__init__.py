"""The command line: one file per command, each parses, makes one library call and prints."""
