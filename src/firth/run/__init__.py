"""The folder of a run on disk: its stages, settings and files; the console and executors."""
