"""Papers on the completion of sentences: zweig2012."""
