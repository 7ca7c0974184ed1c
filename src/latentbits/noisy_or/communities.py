"""Link analysis: sources as communities of columns, the rows that belong to them, how they overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import frame_of
from ..base.components import numbered
from ..base.options import Share, Whole
from ..data.block import Block, Float
from ..errors import InputError, need
from .sources import Sources

# A link of at least this probability makes a column a member.
LEAST_LINK = 0.1


class Communities(Sources):
    """Sources read as communities."""

    source_prior_: Any

    def communities_table(self, top: int | None = 10, least: float = LEAST_LINK) -> list[dict[str, Any]]:
        """The members of every community.

        Parameters
        ----------
        top : int or None
            Members per community, strongest first; None: all.
        least : float
            Links below this make no member.

        Returns
        -------
        list of dict
            With component (the name of the community), rows (expected number), rank, member, strength (link probability),
            lift (against the share of ones of the column), explained (share of the member's ones that the
            community explains, from the model), and also_in, the other communities of the member.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> sorted(model.communities_table(top=1)[0])[:2]
        ['also_in', 'component']
        """
        self._check("top", top, Whole(0, others=(None,)))
        self._check("least", least, Share())
        self._check_fitted()
        names, links = self._feature_names(), self.components_
        theta = self._params.theta
        # What a source adds to the expected strength of a column, as a share of all that goes there.
        flow = self.source_prior_[:, None] * theta
        explained = flow / np.maximum(flow.sum(axis=0) + self._params.theta0, 1e-300)
        rows = self._expected_rows()
        called, out = self.component_names_, []
        for k, row in enumerate(links):
            members = [j for j in np.argsort(-row, kind="stable") if row[j] >= least]
            for rank, j in enumerate(members[:top]):
                others = [called[i] for i in np.flatnonzero(links[:, j] >= least) if i != k]
                out.append(
                    {
                        "component": called[k],
                        "rows": float(rows[k]),
                        "rank": rank + 1,
                        "member": names[j],
                        "strength": float(row[j]),
                        "lift": float(row[j] / self.marginals_[j]),
                        "explained": float(explained[k, j]),
                        "also_in": "; ".join(others),
                    }
                )
        return out

    def communities_frame(self, top: int | None = 10, least: float = LEAST_LINK) -> Any:
        """:meth:`communities_table` as a pandas frame.

        Parameters
        ----------
        top : int
            Members per community.
        least : float
            The weakest link that counts.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.communities_frame(top=2)["component"].unique().tolist()
        ['source 1', 'source 2']
        """
        return frame_of(self.communities_table(top, least))

    def documents_table(self, X: Any, top: int = 5) -> list[dict[str, Any]]:
        """The rows that belong most clearly to every community.

        Parameters
        ----------
        X : table
        top : int
            Rows per community.

        Returns
        -------
        list of dict
            With component (the name of the community), rank, row, posterior, and how many other communities the row is in.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.documents_table(X, top=2))
        4
        """
        self._check("top", top, Whole(0))
        self._check_fitted()
        odds = self._ask(X).by_rows("log_odds")
        posteriors, on = 0.5 * (1.0 + np.tanh(0.5 * odds)), odds > 0
        called, out = self.component_names_, []
        for k in range(odds.shape[1]):
            for rank, i in enumerate(np.argsort(-odds[:, k], kind="stable")[:top]):
                if not on[i, k]:
                    break
                out.append(
                    {
                        "component": called[k],
                        "rank": rank + 1,
                        "row": int(i),
                        "posterior": float(posteriors[i, k]),
                        "others": int(on[i].sum() - 1),
                    }
                )
        return out

    def documents_frame(self, X: Any, top: int = 5) -> Any:
        """:meth:`documents_table` as a pandas frame.

        Parameters
        ----------
        X : table
        top : int
            Rows per community.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.documents_frame(X, top=2))
        4
        """
        return frame_of(self.documents_table(X, top))

    def overlap_table(self, X: Any, least: float = LEAST_LINK) -> list[dict[str, Any]]:
        """How every two communities overlap, in rows and in members.

        Parameters
        ----------
        X : table
        least : float
            Links below this make no member.

        Returns
        -------
        list of dict
            With first and second (their names), rows (expected number in both), ratio (to independence), common members
            and their Jaccard index.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.overlap_table(X))
        1
        """
        self._check("least", least, Share())
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        both, alone, weight = sweep.map(_Both(self._model), [None] * sweep.n_blocks, precomputed, keep_rows=False)[0]
        names, member = self._feature_names(), self.components_ >= least
        called, out = self.component_names_, []
        for a in range(len(alone)):
            for b in range(a + 1, len(alone)):
                common = np.flatnonzero(member[a] & member[b])
                either = int((member[a] | member[b]).sum())
                expected = alone[a] * alone[b] / max(weight, 1e-300)
                out.append(
                    {
                        "first": called[a],
                        "second": called[b],
                        "rows": float(both[a, b]),
                        "ratio": float(both[a, b] / max(expected, 1e-300)),
                        "common": "; ".join(names[j] for j in common),
                        "jaccard": len(common) / either if either else 0.0,
                    }
                )
        return out

    def overlap_frame(self, X: Any, least: float = LEAST_LINK) -> Any:
        """:meth:`overlap_table` as a pandas frame.

        Parameters
        ----------
        X : table
        least : float
            Links below this make no member.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.overlap_frame(X))
        1
        """
        return frame_of(self.overlap_table(X, least))

    def to_graph(self, X: Any = None, least: float = LEAST_LINK, row_names: Any = None) -> Any:
        """Communities, members and, if a table is given, rows as a networkx graph.

        Parameters
        ----------
        X : table, optional
            Its rows become nodes, linked to the communities that they belong to by more than one half.
        least : float
            Links below this make no edge.
        row_names : sequence of str, optional
            What rows are called; by default ``row 0``, ``row 1``, ...

        Returns
        -------
        networkx.Graph
            Nodes have ``kind`` ("community", "member" or "row") and ``label``; edges have ``weight`` (link probability or
            posterior).  ``networkx.write_graphml`` and ``write_gexf`` write it.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.to_graph().number_of_nodes() >= 2
        True
        """
        self._check("least", least, Share())
        self._check_fitted()
        try:
            import networkx as nx
        except ImportError:
            raise need("networkx", "links", "A graph") from None
        graph = nx.Graph()
        names, nodes = self._feature_names(), numbered(self._noun, self.n_components)
        posteriors = None if X is None else self._ask(X).by_rows("represent")
        if posteriors is not None and row_names is not None:
            if isinstance(row_names, (str, dict)) or np.shape(row_names) != (len(posteriors),):
                raise InputError(f"{self._name}: row_names must hold one name per row ({len(posteriors)}).")
        sizes = self._expected_rows() if posteriors is None else posteriors.sum(axis=0)
        for k, called in enumerate(self.component_names_):
            graph.add_node(nodes[k], kind="community", label=called, rows=float(sizes[k]))
        for k, row in enumerate(self.components_):
            for j in np.flatnonzero(row >= least):
                graph.add_node(f"member {j}", kind="member", label=names[j], share=float(self.marginals_[j]))
                graph.add_edge(nodes[k], f"member {j}", weight=float(row[j]))
        if posteriors is not None:
            for i, k in zip(*np.nonzero(posteriors > 0.5)):
                label = f"row {i}" if row_names is None else str(row_names[i])
                graph.add_node(f"row {i}", kind="row", label=label)
                graph.add_edge(f"row {i}", nodes[k], weight=float(posteriors[i, k]))
        return graph


class _Both:
    """Expected rows in two communities (K, K), in one (K,), and all."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, rows: Any, precomputed: Any) -> tuple[tuple[Float, Float, float], None]:
        shares, weights = self.model.represent(block, precomputed), block.row_weights()
        return (shares.T @ (shares * weights[:, None]), weights @ shares, float(weights.sum())), None
