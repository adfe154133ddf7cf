"""What firth's two servers stand on: a port of this machine, bounds, and who is answered."""
