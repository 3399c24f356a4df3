"""What learns: a table of TD values (LE-2) and a linear softmax, both by single steps."""

from array import array
from typing import Protocol, TypeAlias

import numpy as np
from jaxtyping import Float64, Int64
from problems import Problem

START = 0.5
Chances: TypeAlias = Float64[np.ndarray, "cases classes"]


class Learner(Protocol):
    """Learns from batches."""

    def predict(self, features: Int64[np.ndarray, "cases columns"]) -> Chances:
        """Chances of the classes."""

    def learn(
        self,
        features: Int64[np.ndarray, "batch columns"],
        labels: Int64[np.ndarray, " batch"],
        weights: Float64[np.ndarray, " batch"],
    ) -> Float64[np.ndarray, " batch"]:
        """One step; returns the errors before it: 1 less the chance of the right class."""


class Table:
    """TD(0) by path, by tool and over all: ``V <- V + rate weight (outcome - V)`` (LE-2).

    V is the chance of class 1.  A value that was never moved is not asked: the next in the chain
    is.  Cases of a batch move the values one after another.
    """

    def __init__(self, problem: Problem, rate: float) -> None:
        self._chain, self._rate = problem.chain, rate
        self._memory = array("d", [START]) * problem.n_features  # quick one by one
        self._values = np.frombuffer(self._memory)
        self._seen = np.zeros(problem.n_features, dtype=bool)

    def predict(self, features: Int64[np.ndarray, "cases columns"]) -> Chances:
        """As `Learner` says."""
        chances = self._values[features[:, self._chain[-1]]]
        for column in reversed(self._chain[:-1]):
            number = features[:, column]
            chances = np.where(self._seen[number], self._values[number], chances)
        return np.stack([1 - chances, chances], axis=1)

    def learn(
        self,
        features: Int64[np.ndarray, "batch columns"],
        labels: Int64[np.ndarray, " batch"],
        weights: Float64[np.ndarray, " batch"],
    ) -> Float64[np.ndarray, " batch"]:
        """As `Learner` says."""
        errors: Float64[np.ndarray, " batch"] = (
            1 - self.predict(features)[np.arange(len(labels)), labels]
        )
        chains = features[:, self._chain]
        self._seen[chains] = True
        steps = (self._rate * weights).tolist()
        values = self._memory
        for numbers, label, step in zip(chains.tolist(), labels.tolist(), steps, strict=True):
            for number in numbers:
                values[number] += step * (label - values[number])
        return errors


class Linear:
    """Softmax regression on binary features, by stochastic gradient descent."""

    def __init__(self, problem: Problem, rate: float) -> None:
        self._weights = np.zeros((problem.n_features, problem.n_classes))
        self._rate = rate

    def predict(self, features: Int64[np.ndarray, "cases columns"]) -> Chances:
        """As `Learner` says."""
        scores = self._weights[features].sum(axis=1)
        chances: Chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def learn(
        self,
        features: Int64[np.ndarray, "batch columns"],
        labels: Int64[np.ndarray, " batch"],
        weights: Float64[np.ndarray, " batch"],
    ) -> Float64[np.ndarray, " batch"]:
        """As `Learner` says."""
        slope = self.predict(features)
        rows = np.arange(len(labels))
        errors: Float64[np.ndarray, " batch"] = 1 - slope[rows, labels]
        slope[rows, labels] -= 1
        slope *= (self._rate / len(labels)) * weights[:, None]
        np.subtract.at(self._weights, features, slope[:, None, :])
        return errors
