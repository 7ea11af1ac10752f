"""Papers on the relevance of documents to queries, from grades."""
