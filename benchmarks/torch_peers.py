"""PyTorch as a peer, at its best: no graph where the gradient is known, sparse gradients of bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def contrast(
    u: np.ndarray, v: np.ndarray, loss: str, scale: float, n: int, block: int = 1024
) -> tuple[float, np.ndarray, np.ndarray]:
    """S2Net's loss and gradient in both directions by hand: blocks of rows, in place, without a graph."""
    import torch

    torch.set_num_threads(n)
    with torch.inference_mode():
        U, V = torch.from_numpy(u), torch.from_numpy(v)
        own = torch.einsum("ij,ij->i", U, V)
        parts = [slice(begin, begin + block) for begin in range(0, len(u), block)]
        of_u, of_v = torch.empty_like(U), torch.zeros_like(V)
        if loss == "softmax":
            value, pull = _softmax(U, V, own, scale, parts, of_u, of_v)
        else:
            value, pull = _logistic(U, V, own, scale, parts, of_u, of_v)
        of_u.sub_(pull[:, None] * V)
        of_v.sub_(pull[:, None] * U)
        return value, of_u.numpy(), of_v.numpy()


def _softmax(U: Any, V: Any, own: Any, scale: float, parts: list[slice], of_u: Any, of_v: Any) -> Any:
    import torch

    m = len(U)
    rows, columns = torch.zeros(m), torch.zeros(m)
    for part in parts:
        e = (U[part] @ V.T).sub_(1).mul_(scale).exp_()
        rows[part] = e.sum(1)
        columns += e.sum(0)
    value = 0.5 * float((rows.log() + columns.log() - 2 * scale * (own - 1)).double().mean())
    a, b = 0.5 * scale / m / rows, 0.5 * scale / m / columns
    for part in parts:
        e = (U[part] @ V.T).sub_(1).mul_(scale).exp_()
        e.mul_(a[part, None] + b[None])
        torch.matmul(e, V, out=of_u[part])
        of_v.addmm_(e.T, U[part])
    return value, torch.full((m,), scale / m)


def _logistic(U: Any, V: Any, own: Any, scale: float, parts: list[slice], of_u: Any, of_v: Any) -> Any:
    import torch

    m = len(U)
    unit = 0.5 / (m * (m - 1))
    value, pull = 0.0, torch.zeros(m)
    for part in parts:
        s = (U[part] @ V.T).mul_(scale)
        at = torch.arange(m)[part]
        s[torch.arange(len(at)), at] = -torch.inf
        by_row, by_column = s - scale * own[part, None], s.sub_(scale * own[None])
        value += unit * float(
            torch.nn.functional.softplus(by_row).sum() + torch.nn.functional.softplus(by_column).sum()
        )
        by_row.sigmoid_().mul_(scale * unit)
        by_column.sigmoid_().mul_(scale * unit)
        pull[part] += by_row.sum(1)
        pull += by_column.sum(0)
        by_row.add_(by_column)
        torch.matmul(by_row, V, out=of_u[part])
        of_v.addmm_(by_row.T, U[part])
    return value, pull


def s2net(views: Sequence[Any], start: np.ndarray, epochs: int, scale: float, n: int) -> np.ndarray:
    """S2Net by batches as PyTorch does it best: bags of rows of a matrix, gradients of touched rows, lazy Adam.

    Batches, rates and the scale are the library's defaults; `start` has a row for each column of the views.
    """
    import torch

    torch.set_num_threads(n)
    A = torch.nn.Parameter(torch.tensor(start))
    size = float(np.sqrt(np.mean(np.square(start, dtype=np.float64))))
    steps = torch.optim.SparseAdam([A], lr=0.2 * size)
    rng, m = np.random.default_rng(0), views[0].shape[0]
    for epoch in range(epochs):
        steps.param_groups[0]["lr"] = 0.2 * size / (1 + 0.3 * epoch)
        for rows in np.array_split(rng.permutation(m), max(1, round(m / 1000))):
            U, V = (torch.nn.functional.normalize(_bags(view[rows], A)) for view in views)
            similar, own = scale * (U @ V.T), torch.arange(len(rows))
            cross_entropy = torch.nn.functional.cross_entropy
            loss = (cross_entropy(similar, own) + cross_entropy(similar.T, own)) / 2
            steps.zero_grad()
            loss.backward()
            steps.step()
    return A.detach().numpy()


def _bags(rows: Any, A: Any) -> Any:
    """Rows times A, with a sparse gradient."""
    import torch

    indices, data = torch.from_numpy(rows.indices), torch.from_numpy(rows.data)
    offsets = torch.from_numpy(rows.indptr[:-1])
    return torch.nn.functional.embedding_bag(indices, A, offsets, mode="sum", sparse=True, per_sample_weights=data)
