"""Papers that learn word vectors from thesauri: yih2012, chang2013, zhang2014."""
