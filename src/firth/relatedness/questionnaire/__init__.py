"""A questionnaire of best-worst scaling in the browser (docs/best-worst-scaling.md)."""
