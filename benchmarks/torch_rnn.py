"""A recurrent language model as one would write it for PyTorch on a CPU: the peer of `RNNLM`.

Called the fastest way that was found: the hidden layer by ``torch.nn.RNN`` and its graph; the softmax of classes
with a graph; that of words class by class with operations in place, and a step for the rows of the class at once.
Steps of Adagrad are those of the kernel: a sum for each row of the large matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
BEGIN, END = 1, 2


def train(
    arrays: Arrays,
    sums: Arrays,
    class_begin: np.ndarray,
    place_of: np.ndarray,
    class_of: np.ndarray,
    ids: np.ndarray,
    *,
    n_streams: int,
    n_steps: int,
    rate: float,
    n_threads: int,
    words: str = "by hand",
) -> tuple[float, Arrays]:
    """Train once through a text, with the state kept at the end of sentences; returns the loss and the weights."""
    import torch

    torch.set_num_threads(n_threads)
    w = {name: torch.tensor(array) for name, array in arrays.items()}
    kept = {name: torch.tensor(array) for name, array in sums.items()}
    h = arrays["recurrent"].shape[0]
    network = torch.nn.RNN(h, h, nonlinearity="tanh")
    with torch.no_grad():  # what goes in is added as it is: the words' rows are U w already
        network.weight_ih_l0.copy_(torch.eye(h))
        network.weight_hh_l0.copy_(w["recurrent"])
        network.bias_ih_l0.zero_()
        network.bias_hh_l0.copy_(w["hidden_bias"])
    network.weight_ih_l0.requires_grad_(False)
    network.bias_ih_l0.requires_grad_(False)
    length = len(ids) // n_streams
    targets = torch.from_numpy(ids[: length * n_streams].reshape(n_streams, length).T.astype(np.int64).copy())
    before = np.concatenate([[END], ids[: length * n_streams - 1]])
    inputs = torch.from_numpy(
        np.where(before == END, BEGIN, before).reshape(n_streams, length).T.astype(np.int64).copy()
    )
    places, classes = (torch.from_numpy(each.astype(np.int64)) for each in (place_of, class_of))
    begins = class_begin.tolist()
    state = torch.zeros(1, n_streams, h)
    graph = {"recurrent": network.weight_hh_l0, "hidden_bias": network.bias_hh_l0}
    graph |= {name: w[name].requires_grad_(True) for name in ("classes", "class_bias")}
    total = 0.0
    for begin in range(0, length, n_steps):
        read, target = inputs[begin : begin + n_steps], targets[begin : begin + n_steps].reshape(-1)
        rows = w["input"][read].requires_grad_(True)
        states, state = network(rows, state)
        state = state.detach()
        flat = states.reshape(-1, h)
        loss = torch.nn.functional.cross_entropy(
            torch.addmm(w["class_bias"], flat, w["classes"].T), classes[target], reduction="sum"
        )
        of_words, error = _words(torch, w, kept, begins, classes[target], places[target], flat.detach(), rate)
        torch.autograd.backward([loss, flat], [None, error])
        total += float(loss.detach()) + of_words
        with torch.no_grad():
            for name, parameter in graph.items():
                _step(torch, parameter, parameter.grad, kept[name], rate)
                parameter.grad = None
            met, where = torch.unique(read.reshape(-1), return_inverse=True)
            gradient = torch.zeros(len(met), h).index_add_(0, where, rows.grad.reshape(-1, h))
            squares = kept["input"][met] + gradient.square().mean(1, keepdim=True)
            kept["input"][met] = squares
            w["input"].index_add_(0, met, gradient.mul_(squares.rsqrt()), alpha=-rate)
    w |= {name: parameter.detach() for name, parameter in graph.items()}
    return total, {name: tensor.detach().numpy() for name, tensor in w.items()}


def _words(
    torch: Any, w: Any, kept: Any, begins: list[int], classes: Any, places: Any, states: Any, rate: float
) -> tuple[float, Any]:
    """The softmax of words in the classes that are met, and a step of theirs; the gradient by the states."""
    order = torch.argsort(classes, stable=True)
    met, counts = torch.unique_consecutive(classes[order], return_counts=True)
    sorted_states, sorted_places = states[order], places[order]
    errors = torch.zeros_like(sorted_states)
    total, first = 0.0, 0
    for c, n in zip(met.tolist(), counts.tolist(), strict=True):
        some = slice(first, first + n)
        first += n
        rows = slice(begins[c], begins[c + 1])
        if rows.stop - rows.start == 1:
            continue
        W, mine = w["words"][rows], sorted_states[some]
        shares = torch.log_softmax(torch.addmm(w["word_bias"][rows], mine, W.T), 1)
        which = (sorted_places[some] - rows.start).unsqueeze(1)
        total -= shares.gather(1, which).sum()
        shares = shares.exp_().scatter_add_(1, which, shares.new_full((1, 1), -1.0).expand(n, 1))
        torch.mm(shares, W, out=errors[some])
        _step(torch, W, shares.T @ mine, kept["words"][rows], rate)
        _step(torch, w["word_bias"][rows], shares.sum(0), kept["word_bias"][rows], rate)
    return float(total), torch.empty_like(errors).index_copy_(0, order, errors)


def _step(torch: Any, w: Any, gradient: Any, sums: Any, rate: float) -> None:
    """Adagrad in place, with a sum for each element, or for each row."""
    if sums.shape == gradient.shape:
        w.addcdiv_(gradient, sums.addcmul_(gradient, gradient).sqrt(), value=-rate)
    else:
        sums += gradient.square().mean(1, keepdim=True)
        w.addcmul_(gradient, sums.rsqrt(), value=-rate)
