"""What makes sentences related: which of their words agree most with people's scores (Table 4)."""
