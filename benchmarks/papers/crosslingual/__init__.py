"""Papers that find documents and their translations: platt2010, yih2011."""
