"""semproj: latent semantic projections at the speed the memory allows.

Text, dictionaries and relations to vectors, on a CPU. See ``semproj.kernels`` for the functions below the
estimators.
"""

from __future__ import annotations

from . import alignment, kernels, metrics, retrieval
from ._config import show_config
from ._core import __version__
from ._persist import SavedModelError, load
from .cca import CCA
from .cllsi import CLLSI
from .dda import DDA
from .encoder import Encoder
from .lsa import LSA
from .neighbors import NearestNeighborClassifier
from .opca import OPCA
from .tensor import SparseTensor
from .text import MultiTermCounter, TermCounter
from .tucker import Tucker
from .weighting import BM25, CustomWeighting, LogTfIdf, TfIdf
from .wordbyword import WordByWord
from .wtmf import WTMF

__all__ = [
    "BM25",
    "CCA",
    "CLLSI",
    "DDA",
    "LSA",
    "OPCA",
    "WTMF",
    "CustomWeighting",
    "Encoder",
    "LogTfIdf",
    "MultiTermCounter",
    "NearestNeighborClassifier",
    "SavedModelError",
    "SparseTensor",
    "TermCounter",
    "TfIdf",
    "Tucker",
    "WordByWord",
    "__version__",
    "alignment",
    "kernels",
    "load",
    "metrics",
    "retrieval",
    "show_config",
]
