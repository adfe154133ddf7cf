"""A run as a service: HTTP API, the web app, and OpenAI's embeddings endpoint."""
