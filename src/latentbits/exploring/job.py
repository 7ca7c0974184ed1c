"""The main job, step by step: describe, compare, refit, draw the map, read the models, write everything."""

from __future__ import annotations

import copy
import hashlib
import json
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, persist
from ..base.options import File
from ..base.passes import table_sums
from ..data.checks import warn_of_repeated_ids
from ..data.holdout import RowsSource, some_rows
from ..data.replacing import write_atomically
from ..data.source import Source, open_source
from ..engine.locks import held
from ..engine.sweep import sweep_of
from ..errors import InputError, LatentBitsError, LatentBitsWarning, TableWarning
from ..evaluation import Candidate, Comparison, Plan, StackedFill, compare
from ..evaluation.candidates import candidate_of, candidates_for, check_sizes, several_sizes, size_text
from ..evaluation.growing import grown
from ..evaluation.part_store import check_parts, digest_of_table, mark_parts, remove_parts
from ..evaluation.plan import default_budget
from ..evaluation.search import Point
from ..families import BY_NAME, TableSize, family_of
from ..report import page_of
from .analysis import MAP_ROWS, filled_blanks, share_of_ones, worth_a_look
from .exploration import OUTPUTS, TABLES, Exploration, Rows
from .facts import Facts, facts_of
from .files import write_all
from .fitted import FittedFamily
from .gist import gist_of, overview, standing_of
from .labels import Label, associations, label_of, totals_of
from .leftovers import leftovers
from .page_content import content_of
from .readings import Reading, families_to_read
from .settings import read_settings, to_toml, versions
from .wording import column_told

PARTS = ".parts"
LOCK = ".latentbits-lock"
# Share of the budget that the fit of a model to the whole table may take (of longer tables it is fitted to a part), and that
# of the map, which then has fewer passes, and of the models that fill blanks together, which then are fewer.
LAST_FIT, MAP_FIT, STACK_FITS, FEWEST_PASSES = 0.2, 0.1, 0.3, 20
MAP_SHAPE = (12, 12)


def explore(
    X: Any,
    out: Any,
    *,
    name: str | None = None,
    ids: Any = None,
    labels: dict[str, Any] | None = None,
    models: Any = "all",
    n_components: Any = None,
    folds: int | None = None,
    budget: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    binarize: float | None = None,
    tables: str = "csv",
    safe_csv: bool = False,
    resume: bool = False,
    progress: Callable[[float, float, str], None] | None = None,
    about: dict[str, Any] | None = None,
    client: Any = None,
    plan: Plan | None = None,
) -> Exploration:
    """Find out what is hidden in a table, and write it down.

    The families are compared (see :func:`~latentbits.compare`).  The best one (of those within one standard error of it the
    easiest to read), the easiest of every other kind of structure that predicts as well, and the best with several causes per
    row are fitted to the whole table and set beside the labels; ``out`` receives ``report.html``, ``summary.md``, the tables
    ``comparison``, ``components``, ``rows``, ``labels``, ``pairs``, ``cells`` and ``blanks``, ``model.latentbits``, the other
    models as ``FAMILY.latentbits``, ``stack.latentbits`` if there are blanks, and ``run.toml``.

    Parameters
    ----------
    X : table
        The data.
    out : path
        Folder to write to; made if it is not there.
    name : str, optional
        What the table is called; by default the name of the folder.
    ids : sequence, optional
        Names of the rows; by default those of a table read from a file.
    labels : dict of sequences, optional
        Columns that are shown beside the rows, never used for fitting.
    models, n_components, folds, budget, random_state, n_jobs, binarize
        As in :func:`~latentbits.compare`.
    tables : {"csv", "parquet"}
        Format of the tables.
    safe_csv : bool
        Put an apostrophe before text of CSV tables that a spreadsheet would take for a formula.
    resume : bool
        Go on with an interrupted run in the same folder.
    progress : function, optional
        Called with (done, total, note) in nominal seconds.
    about : dict, optional
        What ``run.toml`` says about where the table came from.
    client : distributed.Client, optional
        Whose workers do the fits of the comparison, and the starts of the last ones; by default the active client.
    plan : Plan, optional
        Of an earlier run on the same table (``found.comparison.plan``, in ``run.toml``): do the same again, however long it
        takes here.

    Returns
    -------
    Exploration

    Examples
    --------
    >>> import latentbits, tempfile
    >>> X = latentbits.datasets.make_mixture(600, 20, 3, spread=2.0, random_state=0).data
    >>> found = latentbits.explore(X, tempfile.mkdtemp(), models=["mixture"], n_components=[2, 3], folds=1)
    >>> found.comparison.finding_, found.report.name
    ('structure', 'report.html')
    """
    if tables not in TABLES:
        raise InputError(f"explore: tables must be 'csv' or 'parquet'; got {tables!r}.")
    folder = Path(out)
    if not (n_components is None or isinstance(n_components, dict)):
        n_components = several_sizes(n_components, "explore")
    candidates = candidates_for(models, n_components)
    if any(one.structure == "other" for one in candidates):
        raise InputError("explore: only families of this package can be explored with; compare takes others, too.")
    source = open_source(X, owner="explore", binarize=binarize)
    check_sizes(candidates, source)
    ids, labels = _beside(X, ids, labels, source.shape[0])
    settings = {
        "table": dict(about or {}),
        "explore": {
            "name": name or folder.name,
            "seed": int(random_state),
            "models": models if isinstance(models, str) else [one.name for one in candidates if one.is_family],
            "sizes": None if isinstance(n_components, dict) else n_components,  # those by family are not written
            "folds": folds,
            "budget": budget,
            "tables": tables,
            "safe_csv": bool(safe_csv) or None,  # None is not written
        },
        "versions": versions(),
    }
    _check_folder(folder, resume, (about or {}).get("path"))
    id_name = "row" if ids is None else str(getattr(X, "id_name", "id")) if type(X).__name__ == "Table" else "id"
    job = _Job(
        folder=folder,
        name=name or folder.name,
        rows=Rows(source, ids, id_name, labels),
        seed=int(random_state),
        n_jobs=n_jobs,
        tables=tables,
        safe_csv=bool(safe_csv),
        settings=settings,
        tell=progress or _silent,
        binarize=binarize,
        client=client,
        repeat=plan,
    )
    with held(folder / LOCK, folder), nullcontext() if client is None else client.as_current():
        if not resume and (folder / PARTS).is_dir():
            check_parts(folder / PARTS)
            remove_parts(folder / PARTS)
        write_atomically(folder / "run.toml", to_toml(settings).encode())
        mark_parts(folder / PARTS)
        return job.run(models, {"folds": folds, "budget": budget, "n_components": n_components, "plan": plan})


def _silent(done: float, total: float, note: str) -> None:
    """No progress is shown."""


def _beside(
    X: Any, ids: Any, labels: Any, n_rows: int, owner: str = "explore"
) -> tuple[list[str] | None, dict[str, list[str]]]:
    """Names and labels of the rows, given or found beside the table."""
    if ids is not None:
        ids = [str(i) for i in ids]
        warn_of_repeated_ids(ids, "ids")
    ids = getattr(X, "ids", None) if ids is None and type(X).__name__ == "Table" else ids
    labels = getattr(X, "labels", None) if labels is None and type(X).__name__ == "Table" else labels
    labels = {str(k): ["" if _blank(v) else str(v) for v in values] for k, values in (labels or {}).items()}
    for what, values in [("ids", ids), *labels.items()]:
        if values is not None and len(values) != n_rows:
            raise InputError(f"{owner}: {what} has {len(values)} entries for {n_rows} rows.")
    return ids, labels


def _blank(value: Any) -> bool:
    """Whether a label is missing."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA
        return True


def _check_folder(folder: Path, resume: bool, table: str | None) -> None:
    """Refuse to write over what is not ours, and to resume what never began."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder with --out.")
    there = [file for file in OUTPUTS if (folder / file).exists()]
    for file in there:
        if table is not None and Path(table).exists() and (folder / file).samefile(table):
            raise InputError(
                f"{folder / file} is the table itself and would be written over; name another folder with --out."
            )
    if there and not _is_ours(folder / "run.toml"):
        raise InputError(
            f"{folder / there[0]} is there, but not from an exploration; it is not written over. Name another --out."
        )
    check_parts(folder / PARTS)
    if resume and not (folder / PARTS).is_dir():
        raise InputError(f"there is no interrupted run in {folder} to resume; run without --resume.")


def _is_ours(settings: Path) -> bool:
    """Whether a file is the ``run.toml`` of an exploration."""
    try:
        read_settings(settings)
    except InputError:
        return False
    return True


@dataclass(kw_only=True)
class _Job:
    """An exploration in progress."""

    folder: Path
    name: str
    rows: Rows
    seed: int
    n_jobs: int | None
    tables: str
    settings: dict[str, dict[str, Any]]
    tell: Callable[[float, float, str], None]
    safe_csv: bool = False
    binarize: float | None = None
    client: Any = None
    repeat: Plan | None = None
    notes: list[str] = field(default_factory=list)
    as_compared: dict[str, Any] = field(
        default_factory=dict
    )  # models to read that are those that were compared, by name
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """The table."""
        return self.rows.source

    def run(self, models: Any, options: dict[str, Any]) -> Exploration:
        """All steps."""
        facts = self.timed("describe", lambda: facts_of(self.source))
        twice = 0 if self.rows.ids is None else len(self.rows.ids) - len(set(self.rows.ids))
        if twice:
            self.notes.append(f"{twice:,} rows have an id that another row has, too.")
        found = self.timed("compare", lambda: self.compared(models, options))
        self.write_settings(**found.plan.sections())
        names = families_to_read(found)
        fits = self.timed("refit", lambda: [self.fitted_family(found, n, i / len(names)) for i, n in enumerate(names)])
        stack = self.timed("stack", lambda: self.stacked(found)) if facts.n_unknown else None
        found = replace(found, plan=Plan.of_sections(self.plan_written()))
        whole = self.analysed(facts, found, fits, stack)
        self.say(0.98, "writing")
        write_all(whole)
        remove_parts(self.folder / PARTS)
        self.say(1.0, "done")
        return whole

    def analysed(
        self, facts: Facts, found: Comparison | None, fits: list[FittedFamily], stack: StackedFill | None = None
    ) -> Exploration:
        """What the fitted models say about the table."""
        self.say(0.9, "drawing the map")
        chart = self.timed("map", lambda: self.charted(fits))
        self.say(0.92, "reading the models")
        labels = [label_of(name, values) for name, values in self.rows.labels.items()]
        readings = self.timed("readings", lambda: self.read(facts, found, fits, labels))
        self.say(0.95, "cells worth a look")
        look = self.timed("cells", lambda: self.cells(fits))
        return Exploration(
            folder=self.folder,
            name=self.name,
            facts=facts,
            comparison=found,
            readings=readings,
            map=chart,
            rows=self.rows,
            labels=labels,
            look=look,
            blanks=filled_blanks(fits[0].model, self.source),
            stack=stack,
            stacked=None if stack is None else filled_blanks(stack, self.source).probability,
            leftovers=leftovers(fits[0].model, self.source, self.seed),
            overview=overview(readings, found),
            notes=self.notes,
            settings=self.settings,
            tables=self.tables,
            safe_csv=self.safe_csv,
            seconds=self.seconds,
        )

    def read(
        self, facts: Facts, found: Comparison | None, fits: list[FittedFamily], labels: list[Label]
    ) -> list[Reading]:
        """Every fitted model beside the rows and what is known of these."""
        names = [column_told(name) for name in facts.names]
        values = [fitted.memberships(self.source) for fitted in fits]
        places = [np.asarray(f.model.transform(self.source))[:, :2] if f.is_map else None for f in fits]
        ones = share_of_ones(self.source)
        totals = [totals_of(v, ones) if fitted.kind == "scales" else [] for fitted, v in zip(fits, values)]
        said = associations(list(zip(fits, values, places)), labels, self.seed)
        standings = ["" if found is None else standing_of(found, fitted) for fitted in fits]
        gists = [gist_of(fitted, names, mine) for fitted, mine in zip(fits, totals)]
        return [Reading(*one) for one in zip(fits, values, places, gists, standings, said, totals)]

    def timed(self, what: str, step: Callable[[], Any]) -> Any:
        """A step, with its time."""
        begin = time.perf_counter()
        result = step()
        self.seconds[what] = time.perf_counter() - begin
        return result

    def say(self, share: float, note: str) -> None:
        """Progress after the comparison."""
        self.tell(share, 1.0, note)

    def compared(self, models: Any, options: dict[str, Any]) -> Comparison:
        """The comparison; its finished parts are kept until the end."""
        return compare(
            self.source,
            models,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            checkpoint=self.folder / PARTS,
            client=self.client,
            progress=lambda done, total, note: self.tell(0.75 * done / max(total, 1e-9), 1.0, note),
            **options,
        )

    def fitted_family(self, found: Comparison, name: str, done: float) -> FittedFamily:
        """A family fitted to the whole table, or to as much of it as the budget allows, to be read.

        Of sizes that predict as well it has the smallest.  On more rows than it was compared on, larger sizes are tried
        before.
        """
        one, row = found.candidate(name), found.row(name)
        compared = Point(row["size"]).with_options(**row["options"])
        point = compared if one.named else found.readable(name)
        n_rows = self.rows_within_budget(one, point, found.plan.n_rows)
        told = "the whole table" if n_rows == self.source.shape[0] else f"{n_rows:,} rows"
        share = 0.75 + 0.12 * done
        if n_rows > found.plan.n_rows + found.plan.n_held and point.size is not None and not one.named:
            self.say(share, f"{one.title} {size_text(point.size)}: larger sizes on {told}")
            point = self.grown(one, point, n_rows)
        self.say(share + 0.03, f"{one.title} {size_text(point.size)}: fitting to {told}")
        model = self.fitted(one, point, "read", n_rows)
        if point == compared:
            self.as_compared[name] = model
        return FittedFamily(one, model, point.size, n_rows)

    def grown(self, one: Candidate, point: Point, n_rows: int) -> Point:
        """The size that so many rows bear; it is written down with the plan."""
        known = None if self.repeat is None else self.repeat.grown.get(one.name)
        rows = some_rows(self.source, n_rows, self.seed)
        found = grown(self.source, rows, one, point, LAST_FIT * self.budget, self.seed, known)
        self.write_settings(**{"plan.grown": {one.name: len(found.tried)}})
        if found.point != point:
            self.notes.append(
                f"{one.title}: {size_text(found.point.size)} instead of {size_text(point.size)}, which was chosen on fewer "
                f"rows, because it predicts the hidden cells of {n_rows:,} rows better."
            )
        return found.point

    def rows_within_budget(self, one: Candidate, point: Point, fewest: int) -> int:
        """Rows to which a family is fitted in the end: all, unless that would take more than a fifth of the budget."""
        n_rows, allowed = self.source.shape[0], LAST_FIT * self.budget
        seconds = one.seconds(point.size, {**one.full, **dict(point.options)}, self.table_size)
        return n_rows if seconds <= allowed else max(fewest, int(n_rows * allowed / seconds))

    @property
    def table_size(self) -> TableSize:
        """The size of the table."""
        sums = table_sums(sweep_of(self.source, 1))[0]
        return TableSize(*self.source.shape, sums.n_ones + sums.n_unknown)

    @property
    def budget(self) -> float:
        """Nominal seconds of the comparison."""
        asked = self.settings["explore"].get("budget")
        if self.repeat is not None:
            return self.repeat.budget
        return default_budget(self.source.shape[0] * self.source.shape[1]) if asked is None else float(asked)

    def fitted(self, one: Candidate, point: Point, role: str, n_rows: int) -> Any:
        """The fitted model, from an interrupted run if it was finished there."""
        options = {**one.full, **dict(point.options)}
        about = f"{one.name} {point.size} {options} {self.seed} {n_rows}"
        asked = f"{__version__} {digest_of_table(self.source)} {about}"
        key = hashlib.sha256(asked.encode()).hexdigest()[:12]
        kept = self.folder / PARTS / f"{role}-{key}.latentbits"
        told = kept.with_suffix(".json")
        if kept.exists() and told.exists():
            try:
                model = persist.load(kept)
                self.notes += json.loads(told.read_text(encoding="utf-8"))
                return model
            except (LatentBitsError, ValueError):
                kept.unlink()  # damaged; it is fitted again
        model = one.estimator(point.size, options, self.seed, self.n_jobs).set_params(binarize=self.binarize)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LatentBitsWarning)
            model.fit(self.some(n_rows))
        doubts = [w for w in caught if issubclass(w.category, LatentBitsWarning)]
        notes = [str(w.message) for w in doubts if not issubclass(w.category, TableWarning)]  # facts tell of tables
        if n_rows < self.source.shape[0]:
            notes.insert(
                0,
                f"{one.title}: fitted to {n_rows:,} of {self.source.shape[0]:,} rows, drawn at random, to keep to the budget "
                f"of {self.budget:.0f} s; all rows are answered about. Raise the budget for a fit to more.",
            )
        self.notes += notes
        kept.parent.mkdir(parents=True, exist_ok=True)
        model.save(kept)
        write_atomically(told, json.dumps(notes).encode())
        # What is told of a model is what its file tells, whether the run was interrupted or not.
        return persist.load(kept)

    def some(self, n_rows: int) -> Any:
        """So many rows of the table, drawn at random, or the table."""
        whole = n_rows == self.source.shape[0]
        return self.source if whole else RowsSource(self.source, some_rows(self.source, n_rows, self.seed))

    def stacked(self, found: Comparison) -> StackedFill | None:
        """The models that fill blanks together, fitted to the whole table within a share of the budget."""
        if self.source.shape[0] > found.plan.n_rows + found.plan.n_held:
            return None  # too long a table: blanks are filled by the family that is read
        self.say(0.88, "models that fill blanks together: fitting")
        names = None if self.repeat is None else self.repeat.stack
        stack = StackedFill(random_state=self.seed, n_jobs=self.n_jobs, binarize=self.binarize).adopt(
            found, self.source, STACK_FITS * self.budget, self.as_compared, names
        )
        self.write_settings(plan={"stack": stack.member_names_})
        return stack

    def plan_written(self) -> dict[str, Any]:
        """The section ``plan`` of ``run.toml``."""
        inner = {name.partition(".")[2]: part for name, part in self.settings.items() if name.startswith("plan.")}
        return {**self.settings["plan"], **inner}

    def write_settings(self, **known: dict[str, Any]) -> None:
        """Write ``run.toml`` anew with what is known by now."""
        for section, values in known.items():
            self.settings.setdefault(section, {}).update(values)
        write_atomically(self.folder / "run.toml", to_toml(self.settings).encode())

    def charted(self, fits: list[FittedFamily]) -> Any:
        """A map of the rows: that of a reading if one is a map."""
        for fitted in fits:
            if fitted.is_map:
                return fitted.model
        one = candidate_of(BY_NAME["gtm"])
        rows = some_rows(self.source, MAP_ROWS, self.seed)
        part = RowsSource(self.source, rows)
        seconds = one.seconds(MAP_SHAPE, one.full, self.table_size.part(len(rows)))
        passes = int(one.full["max_iter"] * min(1.0, MAP_FIT * self.budget / seconds))
        options = {**one.full, "max_iter": max(FEWEST_PASSES, passes)}
        model = one.estimator(MAP_SHAPE, options, self.seed, self.n_jobs)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentBitsWarning)
                return model.fit(part)
        except (LatentBitsError, ArithmeticError) as error:
            self.notes.append(f"No map could be drawn: {error}")
            return None

    def cells(self, fits: list[FittedFamily]) -> list[dict[str, Any]]:
        """Cells worth a look, by the leading model; losses also by others that have the notion."""
        look = worth_a_look(fits[0], self.source, self.seed)
        for fitted in fits[1:]:
            if "phantom" in getattr(fitted.model, "component_kinds_", ()):
                seen = {(cell["row"], cell["column"]) for cell in look}
                lost = [c for c in worth_a_look(fitted, self.source, self.seed) if c["kind"] == "probably missing"]
                look += [cell for cell in lost if (cell["row"], cell["column"]) not in seen]
        return look


def report_on(
    model: Any,
    X: Any,
    *,
    name: str = "table",
    ids: Any = None,
    labels: dict[str, Any] | None = None,
    names: Any = None,
    random_state: int = 0,
    about: dict[str, Any] | None = None,
) -> str:
    """The page of a report on a fitted model and a table, without a comparison.

    Parameters
    ----------
    model : estimator
        Fitted; of a family that explains cells.
    X : table
    name : str
        What the table is called.
    ids : sequence, optional
        Names of the rows; by default those of a table read from a file.
    labels : dict of sequences, optional
        Columns that are shown beside the rows.
    names : dict or path, optional
        What components are called on the page, as in ``name_components``; the model keeps its own names.
    random_state : int
        Which rows are shown, of many.
    about : dict, optional
        Where the table came from.

    Returns
    -------
    str
    """
    if not hasattr(model, "explain"):
        raise InputError(f"{type(model).__name__} does not explain cells; reports are for families of bits.")
    model._check_fitted()
    model = model if names is None else copy.copy(model).name_components(names)
    source = model._open(X, reset=False)
    ids, labels = _beside(X, ids, labels, source.shape[0], "report")
    one = candidate_of(family_of(type(model)))
    shape = getattr(model, "latent_shape", None)
    size = shape if shape is not None else getattr(model, model.size_option, None)
    settings = {"table": dict(about or {}), "explore": {"name": name, "seed": random_state}, "versions": versions()}
    job = _Job(
        folder=Path(),
        name=name,
        rows=Rows(source, ids, labels=labels),
        seed=random_state,
        n_jobs=None,
        tables="csv",
        settings=settings,
        tell=_silent,
        notes=model._doubts_told(),
    )
    return page_of(content_of(job.analysed(facts_of(source), None, [FittedFamily(one, model, size)])))


def check_page(place: Path) -> None:
    """Refuse a file that a report cannot be written to, before the work is done."""
    if place.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{place}: the report is an .html file.")
    if place.is_dir():
        raise InputError(f"{place} is a folder; name a file.")


def write_report(model: Any, X: Any, path: Any, *, name: str | None = None, **options: Any) -> Path:
    """Write the page of :func:`report_on` to an HTML file; the table is called like the file if it has no name."""
    complaint = File()(path) if path is not None else "must be a path; got None."
    if complaint is not None:
        raise InputError(f"report: path {complaint}")
    place = Path(path)
    check_page(place)
    write_atomically(place, report_on(model, X, name=name or place.stem, **options).encode())
    return place
