"""Probabilistic latent semantic analysis: documents as mixtures of topics."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._common.fitting import Progress, fit_by_sweeps
from ._common.topic_sweeps import Documents, TopicSweeps, objective_of
from ._common.topics import TopicModel
from ._common.validation import as_counts, keeps_previous_fit

__all__ = ["PLSA"]


class PLSA(TopicModel):
    """Topics of words, and mixtures of topics of documents, at the mode of their posterior.

    Maximises over the mixtures theta and the topics phi

        sum_dw n_dw log(sum_t theta_dt psi_tw) + (alpha - 1) sum log theta + (beta - 1) sum log psi

    where psi is phi to the power of `tempering`, by expectation maximisation: probabilistic latent semantic
    analysis (Hofmann 1999) with the symmetric Dirichlet priors of Platt, Toutanova and Yih 2010.

    Parameters
    ----------
    n_components : int, default 100
        Topics.
    alpha : float, at least 1, or None, the default
        Prior of a document's topics. With 1 there is none. None: the papers' 1.1, but of all topics together
        ``alpha - 1`` is 5 tokens at most, so from 50 topics on it is ``1 + 5 / n_components``: more would outweigh
        the words of a short document.
    beta : float, at least 1, default 1.01
        Prior of a topic's words.
    tempering : float from 0.1 to 1, default 0.9
        Posteriors of topics are proportional to ``theta phi^tempering``, as in tempered EM (Hofmann 1999): a token
        then has less say in which topic it is of, and topics fit the words of single documents less. 1 is plain
        EM, the papers'. Fold-in has phi itself.
    init : {"clusters", "random", "frequency"}, default "clusters"
        "clusters": each topic begins with the words of a cluster of documents (k-means of log tf-idf rows, in a
        space of up to 200 dimensions; of at most 10,000 documents, or 50 for each topic). It takes the fewest
        sweeps and gives the best topics. "random" spreads each word over all topics, by a draw from a uniform
        Dirichlet distribution. "frequency" is the papers': each word begins in one topic, and words by
        falling frequency are dealt to topics in blocks of equal numbers of tokens; it takes many sweeps. All
        documents begin with all topics alike.
    token_weight : function ``(count, document_frequency, n_documents) -> float``, or None
        What a count weighs in EM, compiled by Numba: at least 0. Documents are counted when the model is fitted.
        None: the count itself.
    max_iter : int, default 100
        Sweeps over all documents.
    tol : float or None, default None
        Stop when a sweep improves the objective by less than this part of it. 0: never. The next sweep finds that
        out, so it is still done. None: 2e-3 from clusters, after which topics tend to become less coherent; 1e-5
        from other starts, whose first sweeps gain little.
    fold_in_iter : int, default 10
        EM iterations of ``transform``: 1 in the paper, 10 in its sequel of 2011. Take 1 to find translations, or
        other documents, by their mixtures; 10 to read the mixtures or to predict words.
    checkpoint, checkpoint_every, callback
        A file to go on from, and a look at each sweep: see :mod:`semproj.stopping`.
    random_state : int, numpy generator or None
        Of clusters and random starts. None: another fit each time.
    n_threads : int or None
    progress : bool, default False
        Show a progress bar.

    Attributes
    ----------
    word_topics_ : float32 array of shape (n_features, n_components)
        p(word | topic): columns sum to one.
    components_ : array of shape (n_components, n_features)
        The same, transposed.
    doc_topics_ : float32 array of shape (n_samples, n_components)
        p(topic | document) of the rows fitted on: rows sum to one. Saved on request only.
    topic_prevalence_ : float64 array of shape (n_components,)
        p(topic): the share of each topic in the tokens fitted on.
    objective_ : float64 array of shape (n_iter_,)
        What is maximised, after each sweep. Never falls, up to rounding.
    document_frequency_ : int64 array of shape (n_features,)
        How many documents have each word. This and ``n_documents_`` are there if tokens are weighted.
    view_starts_ : int64 array
        First columns of vocabularies of their own: one, 0.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    The same bits for any number of threads. Counts need not be integers: they are weights of tokens. Everything is
    kept as float32, whatever the dtype of X. A sweep costs ``3 T`` multiply-adds for each non-zero. Memory:
    ``8 T`` bytes for each word, ``4 T`` for each document, 14 for each non-zero and about 12 MB. A callback or a
    checkpoint takes ``4 T`` more for each word, a callback for each document too.

    Examples
    --------
    >>> import semproj as sj
    >>> texts = ["bank money loan", "money bank bank", "river water bank", "water river river", "loan money"]
    >>> counter = sj.TermCounter()
    >>> X = counter.fit_transform(texts)
    >>> model = sj.PLSA(n_components=2, random_state=0).fit(X)
    >>> [[word for word, probability in topic] for topic in model.top_words(counter.get_feature_names_out(), 2)]
    [['river', 'water'], ['bank', 'money']]
    >>> model.transform(X).argmax(axis=1).tolist()
    [1, 1, 0, 0, 1]
    >>> bool((model.objective_[1:] >= model.objective_[:-1]).all())
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        alpha: float | None = None,
        beta: float = 1.01,
        tempering: float = 0.9,
        init: str = "clusters",
        token_weight: Callable[[float, int, int], float] | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        fold_in_iter: int = 10,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        callback: Callable[[Progress], object] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components, self.tempering = n_components, tempering
        self.alpha, self.beta, self.init, self.random_state = alpha, beta, init, random_state
        self.token_weight = token_weight
        self.max_iter, self.tol, self.fold_in_iter = max_iter, tol, fold_in_iter
        self.checkpoint, self.checkpoint_every, self.callback = checkpoint, checkpoint_every, callback
        self.n_threads, self.progress = n_threads, progress

    @keeps_previous_fit
    def fit(self, X: Any, y: Any = None) -> PLSA:
        """Learn topics.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            Counts, or other weights of tokens: 0, or at least 1e-30.
        """
        self._check_parameters()
        documents = self._documents(X, reset=True)
        fit_by_sweeps(self, TopicSweeps(self, documents), max_iter=self.max_iter, tol=self._chosen_tol)
        return self

    def objective(self, X: Any) -> float:
        """What is maximised, of the fitted parameters; their log posterior, if `tempering` is 1.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            What the model was fitted on.
        """
        self._check_has_documents()
        return objective_of(self, self._documents(X, reset=False))

    def perplexity(self, X: Any) -> float:
        """How many equal words would be as hard to predict by the other half of a document: lower is better.

        ``exp(-sum_dw n_dw log p(w | d) / sum_dw n_dw)``, where p is by the topics of that half of the document in
        which the token is not, as ``transform`` finds them. So topics that only repeat what they were given do not
        help: choose models by it, on documents that they were not fitted on.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)

        Notes
        -----
        Each token goes to one of the halves by a coin, which depends on its document's words and counts alone: all
        models see the same halves, and the order of rows does not count. Of more than 64 tokens of a word, the
        others are halved; what is left of a fraction goes to one half, by a coin. Words that no topic has, which
        there may be with beta = 1, are left out; a word that the topics found exclude counts as one of probability
        1e-30.
        """
        return math.exp(-self.score(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the logarithm of the perplexity: higher is better, as model selection wants it.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
        """
        check_is_fitted(self, "components_")
        return self._completion(self._validated(X, reset=False))

    def fitted_perplexity(self, X: Any) -> float:
        """Perplexity by mixtures that have seen the words: it falls with more topics, whatever they are worth.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            Tokens of probability zero, which a model with beta = 1 may have, are left out.
        """
        check_is_fitted(self, "components_")
        return math.exp(-self._fitted_likelihood(self._validated(X, reset=False)))

    def top_words(
        self, names: Sequence[str], k: int = 10, *, relevance: float | None = None
    ) -> list[list[tuple[str, float]]]:
        """The most probable words of each topic, or the most relevant ones, with their probabilities.

        Parameters
        ----------
        names : sequence of str
            The word of each column.
        k : int, default 10
        relevance : float from 0 to 1, or None
            Order words by ``relevance log p(w | t) + (1 - relevance) log(p(w | t) / p(w))`` (Sievert and Shirley
            2014): 1 is by probability, as None is; the lower, the more words are the topic's own. Try 0.6.
        """
        check_is_fitted(self, "components_")
        return self._top_words(names, k, 0, relevance=relevance)

    def pyldavis_data(self, X: Any, names: Sequence[str]) -> dict[str, Any]:
        """What ``pyLDAvis.prepare(**data)`` takes, of words and documents that there are in X.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            The documents to show, those of ``fit`` or others; they are folded in.
        names : sequence of str
            The word of each column.

        Returns
        -------
        dict
            "topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab" and "term_frequency".
        """
        check_is_fitted(self, "components_")
        return self._pyldavis_data(self._validated(X, reset=False), names, 0)

    def _documents(self, X: Any, reset: bool) -> Documents:
        given, X = X, self._validated(X, reset)
        if reset and X.nnz == 0:
            raise ValueError("X: has no non-zero entries")
        if reset:
            self._remember([given], [X])
            self._learn_statistics([X])
        return Documents(self._tokens(X), [0, X.shape[1]])

    def _validated(self, X: Any, reset: bool) -> Any:
        return as_counts(super()._validated(X, reset))
