"""Tables and figures of the papers, made again on a corpus one names, beside what was printed."""
