"""Papers on the similarity of sentences: guo2012."""
