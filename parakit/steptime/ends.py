"""What replicas and the two ends of a pipeline exchange, and the update: within actions, and after the last one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parakit.cluster import Cluster
from parakit.model import Model
from parakit.pipeline.layout import Layout
from parakit.states import many_places, many_stage_parameters
from parakit.steptime import routes
from parakit.steptime.block import Seconds
from parakit.steptime.columns import Columns
from parakit.steptime.pieces import DATA, FORWARD, INPUTS, WEIGHTS
from parakit.traffic import Collective, padded
from parakit.weights import first_weights, last_weights, layer_weights, whole_on_tensor_ranks


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Ends:
    """Seconds of each pipeline rank after its last action, float64 (plans, pp) each."""

    data: np.ndarray  # exposed
    pipeline: np.ndarray
    tensor: np.ndarray
    update: np.ndarray
    hidden_data: np.ndarray
    hidden_pipeline: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """All that is not hidden."""
        total: np.ndarray = self.data + self.pipeline + self.tensor + self.update
        return total


def exposed(sent: Seconds, computing: Seconds, layers: np.ndarray) -> Seconds:
    """What is not hidden of a transfer that goes layer by layer beside a computation of the same layers.

    The last layer's part has nothing to hide behind; the others' hide behind what is computed
    meanwhile.
    """
    layers = np.maximum(layers, 1)
    left: Seconds = np.maximum(sent / layers, sent - (layers - 1) / layers * computing)
    return left


class Replicas:
    """Seconds of what the devices that hold the same parameters exchange, for plans of one shape."""

    def __init__(
        self,
        model: Model,
        columns: Columns,
        cluster: Cluster,
        counts: np.ndarray,
        spread: Layout,
        *,
        overlap: bool,
    ) -> None:
        """`counts`: blocks without and with experts, first and last, float64 (stages, 4)."""
        self.model, self.columns, self.cluster = model, columns, cluster
        self.counts, self.spread, self.overlap = counts, spread, overlap
        self.blocks = counts[:, :2].sum(axis=1)
        splits = list(zip(columns.tp.tolist(), columns.ep.tolist(), strict=True))
        head = not model.tied or spread.ends_apart
        self.parameters = many_stage_parameters(many_places(model, splits), counts[:, :2], head=head)
        self.groups = [routes.data_route(columns, cluster), routes.experts_data_route(columns, cluster)]

    def add_to_actions(self, seconds: np.ndarray, hidden: np.ndarray) -> None:
        """What ZeRO 2 and 3 exchange for each microbatch lengthens its actions.

        Args:
            seconds: float64 (plans, stages, actions, parts), added to.
            hidden: float64 (plans, stages, parts), added to.
        """
        columns = self.columns
        often = columns.zero >= 2
        if not often.any():
            return
        layers = np.maximum(self.blocks, 1)
        gathered, scattered = np.zeros((2, *seconds.shape[:2]))
        whole = columns.zero == 3
        for kind, route in enumerate(self.groups):
            held = self.parameters[:, :, kind, 0]
            trained = held * columns.trainable[:, None]
            each = whole & (held > 0).any(axis=1)
            gathered += each[:, None] * self._each(route, Collective.ALL_GATHER, held, 0, layers)
            scattered += often[:, None] * self._each(route, Collective.REDUCE_SCATTER, trained, 1, layers)
        busy = seconds.sum(axis=-1)  # (plans, stages, actions)
        split = columns.splits[:, None]
        backward = busy[:, :, INPUTS] + busy[:, :, WEIGHTS]
        both = self._left(gathered + scattered, backward, layers)
        seconds[:, :, FORWARD, DATA] += self._left(gathered, busy[:, :, FORWARD], layers)
        apart = self._left(gathered, busy[:, :, INPUTS], layers)
        seconds[:, :, INPUTS, DATA] += np.where(split, apart, both)
        apart = self._left(scattered, busy[:, :, WEIGHTS], layers)
        seconds[:, :, WEIGHTS, DATA] += np.where(split, apart, 0.0)
        hidden[:, :, DATA] += 2 * gathered + scattered - seconds[..., DATA].sum(axis=-1)

    def _left(self, sent: Seconds, computing: Seconds, layers: np.ndarray) -> Seconds:
        return exposed(sent, computing, layers) if self.overlap else sent

    def _each(
        self,
        route: routes.Route,
        how: Collective,
        parameters: np.ndarray,
        of: int,
        layers: np.ndarray | float,
    ) -> np.ndarray:
        """A collective over parameters (`of` 0) or gradients (1) of each column, float64 (plans, …)."""
        columns = self.columns
        members = route.members[:, None]
        size = padded(parameters, members) * columns.recipe[:, of : of + 1]
        wide = routes.Route(
            members=members,
            crosses=route.crosses[:, None],
            latency=route.latency[:, None] * layers,  # one collective a layer
            rate=route.rate[:, None],
        )
        return np.where(parameters > 0, wide.seconds(how, size), 0.0)

    def after(self, forward: np.ndarray, backward: np.ndarray, weight: np.ndarray) -> Ends:
        """What follows each rank's last action.

        Args:
            forward: seconds of each stage's F, float64 (plans, stages).
            backward: of its full backward B, the same shape.
            weight: of its W.
        """
        columns, order = self.columns, self.spread.stages
        held = self.parameters[:, order].sum(axis=2)  # (plans, pp, 2, 2)
        layers = self.blocks[order].sum(axis=1)
        last = np.where(columns.splits[:, None], weight, backward)[:, order].sum(axis=2)
        first = forward[:, order].sum(axis=2)
        gradients, parameters = np.zeros((2, len(held), len(order)))
        zero = columns.zero[:, None]
        for kind, route in enumerate(self.groups):
            trained = held[:, :, kind, 0] * columns.trainable[:, None]
            reduced = self._each(route, Collective.ALL_REDUCE, trained, 1, 1.0)
            scattered = self._each(route, Collective.REDUCE_SCATTER, trained, 1, 1.0)
            gradients += np.where(zero == 0, reduced, np.where(zero == 1, scattered, 0.0))
            gathered = self._each(route, Collective.ALL_GATHER, trained, 0, 1.0)
            parameters += np.where((zero == 1) | (zero == 2), gathered, 0.0)
        twice = self._twice_held(held)
        left = self._left(gradients, last, layers)
        left_with = self._left(gradients + twice, last, layers)
        begins = self._left(parameters, first, layers)  # beside the next step's first forward
        return Ends(
            data=left + begins,
            pipeline=left_with - left + self._tied(),
            tensor=self._whole(layers),
            update=self._update(held),
            hidden_data=gradients + parameters - left - begins,
            hidden_pipeline=twice - (left_with - left),
        )

    def _update(self, held: np.ndarray) -> np.ndarray:
        """Gradients are read and set to zero, optimizer state is read and written, parameters are written."""
        columns = self.columns
        parameter, gradient, state = columns.recipe.T
        total = np.zeros(held.shape[:2])
        for kind, route in enumerate(self.groups):
            shards = np.where(columns.zero >= 1, route.members, 1)
            cleared = np.where(columns.zero >= 2, route.members, 1)
            read = np.where(columns.copies, 0, parameter)
            each = (gradient + 2 * state + parameter + read) / shards + gradient / cleared
            total += held[:, :, kind, 0] * each[:, None]
        for kind in range(2):  # sums of rows and columns, where an optimizer keeps those
            total += 2 * held[:, :, kind, 1] * columns.sums[:, None]
        seconds: np.ndarray = self.cluster.memory_seconds(total * columns.trainable[:, None])
        longer: np.ndarray = np.maximum(seconds, self.cluster.efficiency.launch)
        return longer

    def _whole(self, layers: np.ndarray) -> np.ndarray:
        """Gradients of what each tensor rank holds whole or repeats, added at the end."""
        model, columns = self.model, self.columns
        groups = [layer_weights(model, sparse=sparse) for sparse in (False, True)]
        groups += [first_weights(model), last_weights(model)]
        each = np.array([whole_on_tensor_ranks(one) for one in groups], dtype=np.float64)
        whole = (self.counts @ each)[self.spread.stages].sum(axis=1)
        gradient = columns.recipe[:, 1] * columns.trainable
        route = routes.tensor_route(columns, self.cluster)
        took = np.zeros((len(gradient), len(whole)))
        for rank, number in enumerate(whole.tolist()):
            size = padded(number, columns.tp) * gradient
            here = route.seconds(Collective.ALL_REDUCE, size)
            took[:, rank] = np.where(columns.sequence_parallel & (number > 0), here, 0.0)
        if model.latent is None and (columns.tp > model.kv_heads).any():
            repeats = np.maximum(columns.tp // model.kv_heads, 1)
            width = model.head_dim * (model.hidden + (1 if model.attention_bias else 0))
            ring = routes.neighbours_route(columns, self.cluster, repeats)
            for rank, blocks in enumerate(layers.tolist()):
                size = padded(2 * blocks * width, repeats) * gradient
                took[:, rank] += ring.seconds(Collective.ALL_REDUCE, size)
        return took

    def _tied(self) -> np.ndarray:
        """Gradients of a tied embedding are added between the two ends."""
        model, columns, spread = self.model, self.columns, self.spread
        took = np.zeros((len(columns.dp), len(spread.stages)))
        if not (model.tied and model.vocabulary and spread.ends_apart):
            return took
        both = [spread.holders(0)[0], spread.holders(len(self.counts) - 1)[0]]
        table = -(-model.vocabulary // columns.tp) * model.embedding_width
        size = padded(table, 2) * columns.recipe[:, 1] * columns.trainable
        took[:, both] = self._between(size, both[0], both[1])[:, None]
        return took

    def _twice_held(self, held: np.ndarray) -> np.ndarray:
        """Where each stage is on two devices, their gradients are added."""
        columns, spread = self.columns, self.spread
        took = np.zeros(held.shape[:2])
        if spread.share == 1:
            return took
        shards = np.where(
            columns.zero[:, None] > 0, np.stack([columns.dp, columns.dp // columns.ep], axis=1), 1
        )
        for rank, stages in enumerate(spread.stages.tolist()):
            other = next(one for one in spread.holders(stages[0]) if one != rank)
            number = (held[:, rank, :, 0] / shards).sum(axis=1)
            size = padded(number, 2) * columns.recipe[:, 1] * columns.trainable
            took[:, rank] = self._between(size, rank, other)
        return took

    def _between(self, size: np.ndarray, one: int, other: int) -> np.ndarray:
        """An all-reduce of two ranks: each sends the whole size once, in two hops."""
        sends = [np.array([one]), np.array([other])]
        took: np.ndarray = 2 * routes.send_seconds(self.columns, self.cluster, size / 2, *sends)[:, 0]
        return took
