"""A run as a service on this machine: pages for people, JSON for programs."""
