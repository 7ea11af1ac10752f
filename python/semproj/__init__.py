"""semproj: latent semantic projections at the speed the memory allows.

Text, dictionaries and relations to vectors, on a CPU. See ``semproj.kernels`` for the functions below the
estimators.
"""

from __future__ import annotations

from . import alignment, kernels, lm, metrics, retrieval, tasks
from ._common.config import show_config
from ._common.persistence import load
from ._common.rows import RowsWarning
from ._common.tensorfile import SavedModelError
from ._core import __version__
from .bptf import BPTF, CosineSlice, effective_sample_size, learn_metric
from .cca import CCA
from .cllsi import CLLSI
from .completion import SentenceCompleter
from .contextspace import ContextSpace
from .cplsa import CPLSA
from .dda import DDA
from .encoder import Encoder
from .implicitals import ImplicitALS
from .jplsa import JPLSA
from .lemmatizer import Lemmatizer
from .lm import RNNLM, ModelM, NGramLM, WordClasses
from .lsa import LSA
from .mixture import SurfaceMixture
from .mrlsa import MRLSA, RawRelations
from .neighbors import NearestNeighborClassifier
from .oov import ExtendedWordSpace
from .opca import OPCA
from .pilsa import PILSA
from .plsa import PLSA
from .s2net import S2Net, preference_triples
from .stopping import EarlyStopping
from .tensor import SparseTensor
from .text import MultiTermCounter, TermCounter
from .thesaurus import Thesaurus
from .tucker import Tucker
from .weighting import BM25, CustomWeighting, LogTfIdf, TfIdf
from .wordbyword import WordByWord
from .wordnet import WordNet
from .wtmf import WTMF

__all__ = [
    "BM25",
    "BPTF",
    "CCA",
    "CLLSI",
    "CPLSA",
    "DDA",
    "JPLSA",
    "LSA",
    "MRLSA",
    "OPCA",
    "PILSA",
    "PLSA",
    "RNNLM",
    "WTMF",
    "ContextSpace",
    "CosineSlice",
    "CustomWeighting",
    "EarlyStopping",
    "Encoder",
    "ExtendedWordSpace",
    "ImplicitALS",
    "Lemmatizer",
    "LogTfIdf",
    "ModelM",
    "MultiTermCounter",
    "NGramLM",
    "NearestNeighborClassifier",
    "RawRelations",
    "RowsWarning",
    "S2Net",
    "SavedModelError",
    "SentenceCompleter",
    "SparseTensor",
    "SurfaceMixture",
    "TermCounter",
    "TfIdf",
    "Thesaurus",
    "Tucker",
    "WordByWord",
    "WordClasses",
    "WordNet",
    "__version__",
    "alignment",
    "completion",
    "effective_sample_size",
    "kernels",
    "learn_metric",
    "lm",
    "load",
    "metrics",
    "preference_triples",
    "retrieval",
    "show_config",
    "tasks",
]
