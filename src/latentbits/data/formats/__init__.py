"""Files of particular fields, each read by the package that its field uses."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from ..raw import RawTable


class FieldFormat(NamedTuple):
    """What a kind of file is called, where its decoder is, and the extra that brings its package."""

    name: str
    decoder: str  # module and function in this room
    extra: str | None = None

    def load(self) -> Callable[..., RawTable]:
        """The decoder; only now is its module imported."""
        module, _, function = self.decoder.partition(":")
        loaded: Callable[..., RawTable] = getattr(import_module(f".{module}", __name__), function)
        return loaded


EXCEL = FieldFormat("Excel", "sheets:read_sheet", "excel")
GENE_CSV = FieldFormat("gene presence/absence", "genes:read_gene_csv")  # told by its header, see genes.is_gene_table
FIELD_FORMATS = {
    ".h5ad": FieldFormat("AnnData", "h5ad:read_h5ad", "anndata"),
    ".sav": FieldFormat("SPSS", "surveys:read_sav", "spss"),
    ".zsav": FieldFormat("SPSS", "surveys:read_sav", "spss"),
    ".por": FieldFormat("SPSS portable", "surveys:read_por", "spss"),
    ".dta": FieldFormat("Stata", "surveys:read_dta", "spss"),
    ".sas7bdat": FieldFormat("SAS", "surveys:read_sas", "spss"),
    ".xpt": FieldFormat("SAS transport", "surveys:read_xport", "spss"),
    ".xlsx": EXCEL,
    ".xlsm": EXCEL,
    ".xlsb": EXCEL,
    ".xls": EXCEL,
    ".ods": FieldFormat("OpenDocument", "sheets:read_sheet", "excel"),
    ".rtab": FieldFormat("Rtab", "genes:read_rtab"),
    ".biom": FieldFormat("BIOM", "biom:read_biom", "biom"),
}
SHEETS = (EXCEL, FIELD_FORMATS[".ods"])
