"""Find the nodes at which a plan wants something, before and while the model runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import nn

from hookviewer.engine.errors import HookviewerError, TargetError, UnknownPathError
from hookviewer.engine.globs import ALL, is_glob, matches, may_match_operations
from hookviewer.engine.node import NodeKind
from hookviewer.engine.paths import Paths, is_scripted
from hookviewer.engine.plan import Intervention, LiveTarget, Plan, Quantity, Tap

_INTO = frozenset({Quantity.INPUT, Quantity.GRAD_INPUT})
_OF_A_VALUE = frozenset({Quantity.OUTPUT, Quantity.GRAD_OUTPUT})


@dataclass(slots=True, eq=False)
class Site:
    """One node at which something is wanted.

    Attributes:
        path: The node.
        kind: What it is.
        wanted: What the plan wants to be recorded there.
        taps: What of it this run can record.
        interventions: What is changed there.
        is_live: Whether the target needs its live values.
        calls: How often it was called so far.
    """

    path: str
    kind: NodeKind
    wanted: Mapping[Quantity, Tap]
    taps: Mapping[Quantity, Tap]
    interventions: tuple[Intervention, ...] = ()
    is_live: bool = False
    calls: int = 0


class Watch:
    """What is wanted of the calls of one module or operation, under all its paths.

    Attributes:
        sites: One for each path at which something is wanted.
        plants: Whether values without a graph become roots of one where gradients are wanted.
        interventions: Those of all its paths.
        has_rule: Whether an intervention needs what goes in.
        takes_inputs: Whether what goes in must be looked at before the call.
        wants_grad_input: Whether the gradient through the call to its inputs is recorded.
        wants_gradient: Whether any gradient is recorded.
        wants_value: Whether anything is to be known of what comes out.
    """

    def __init__(self, sites: tuple[Site, ...], plants: bool = True) -> None:
        wanted = {quantity for site in sites for quantity in site.taps}
        self.sites, self.plants = sites, plants
        self.interventions = tuple(each for site in sites for each in site.interventions)
        self.has_rule = any(each.rule is not None for each in self.interventions)
        self.wants_grad_input = Quantity.GRAD_INPUT in wanted
        self.wants_gradient = self.wants_grad_input or Quantity.GRAD_OUTPUT in wanted
        self.takes_inputs = self.has_rule or self.wants_grad_input or Quantity.INPUT in wanted
        is_live = any(site.is_live for site in sites)
        self.wants_value = is_live or self.wants_gradient or Quantity.OUTPUT in wanted


class Sites:
    """The sites of a plan in a model: those of modules and tensors at once, others when seen."""

    def __init__(self, paths: Paths, plan: Plan) -> None:
        """Look for the nodes.

        Raises:
            UnknownPathError: A path names no node, or a glob no module.
            HookviewerError: An intervention or a target on a parameter.
        """
        self._paths, self._plan = paths, plan
        self._live = plan.target.nodes if isinstance(plan.target, LiveTarget) else ()
        self._globs = [tap for tap in plan.taps if is_glob(tap.path)]
        self._exact: dict[str, dict[Quantity, Tap]] = defaultdict(dict)
        for tap in plan.taps.difference(self._globs):
            self._exact[tap.path][tap.quantity] = tap
        self._by_path: dict[str, Site | None] = {}
        self._check()
        self.modules = self._watches()
        """What is wanted of each module; those of which nothing is wanted are left out."""
        if self._globs:
            for path in paths.parameter_paths():
                self._site(path, NodeKind.PARAMETER)

    @property
    def taps(self) -> frozenset[Tap]:
        """Every tap of the run, also those that it cannot record.

        Globs stand for the nodes that they met; attention, which few nodes have, only where a path
        says so.
        """
        met = {
            tap
            for site in self._by_path.values()
            if site is not None and (site.calls > 0 or site.kind is not NodeKind.OPERATION)
            for tap in site.wanted.values()
            if tap.quantity is not Quantity.ATTENTION
        }
        return self._plan.taps.difference(self._globs) | met

    @property
    def may_be_operations(self) -> bool:
        """Whether operations must be looked at, for themselves or for attention in a module."""
        attention = any(tap.quantity is Quantity.ATTENTION for tap in self._plan.taps)
        return attention or any(map(may_match_operations, self._wanted()))

    @property
    def first_calls_are_known(self) -> bool:
        """Whether all nodes that something is wanted of are known before they are called."""
        return not any(may_match_operations(tap.path) for tap in self._globs)

    @property
    def awaited(self) -> set[str]:
        """The paths of those that must be called before the run may stop."""
        values = {tap.path for tap in self.taps if not tap.quantity.is_of_parameters}
        return {path for path in values if self._paths.owner(path) is None} | {*self._live}

    @property
    def want_gradients_of_inputs(self) -> bool:
        """Whether a gradient at any input is wanted."""
        return self._plan.needs_backward and any(
            tap.quantity.is_gradient and (tap.path.startswith("input:") or tap.path == ALL)
            for tap in self._plan.taps
        )

    @property
    def want_gradients_of_operations(self) -> bool:
        """Whether a gradient at any operation is wanted."""
        return self._plan.needs_backward and any(
            tap.quantity.is_gradient and may_match_operations(tap.path) for tap in self._plan.taps
        )

    def of_operation(self, modules: Iterable[str], name: str) -> Watch | None:
        """Return what is wanted of the operation ``name`` in the module at these paths."""
        return self._watch([f"{module}/{name}" for module in modules], NodeKind.OPERATION)

    def of_root(self) -> Watch | None:
        """Return what is wanted of the model itself, for one that is no module."""
        return self._watch([""], NodeKind.MODULE)

    def of_input(self, name: str) -> Watch | None:
        """Return what is wanted of the input ``name``."""
        return self._watch([f"input:{name}"], NodeKind.INPUT)

    def _check(self) -> None:
        for path in self._wanted():
            if not is_glob(path):
                self._paths.check(path)
            elif not may_match_operations(path) and ":" not in path:
                self._check_glob(path)
        for path in self._live:
            if is_glob(path) or self._paths.owner(path) is not None:
                raise TargetError(
                    f"A target can be about a module, an operation or an input; '{path}' is none."
                )
        for path in self._plan.interventions:
            if not is_glob(path) and self._paths.owner(path) is not None:
                raise HookviewerError(
                    f"'{path}' is a parameter or buffer; interventions act on modules, operations "
                    "and inputs."
                )

    def _check_glob(self, glob: str) -> None:
        if not any(matches(glob, path, NodeKind.MODULE) for path in self._modules()):
            raise UnknownPathError(glob, self._modules())

    def _modules(self) -> Iterable[str]:
        return self._paths.modules or ("",)  # any callable has a root

    def _watches(self) -> dict[nn.Module, Watch]:
        if any(map(is_glob, self._wanted())):
            modules = list(self._paths.by_module)
        else:
            named = self._wanted() & self._paths.modules.keys()
            modules = list(dict.fromkeys(self._paths.modules[path] for path in sorted(named)))
        found = {}
        for module in modules:
            watch = self._watch(self._paths.by_module[module], NodeKind.MODULE)
            if watch is not None and not is_scripted(module):  # which refuses hooks
                found[module] = watch
        return found

    def _wanted(self) -> set[str]:
        """Return every path and glob that the plan names."""
        return {*self._exact, *(tap.path for tap in self._globs), *self._live} | set(
            self._plan.interventions
        )

    def _watch(self, paths: Iterable[str], kind: NodeKind) -> Watch | None:
        found = [self._site(path, kind) for path in paths]
        sites = tuple(site for site in found if site is not None)
        return Watch(sites, kind is not NodeKind.OPERATION) if sites else None

    def _site(self, path: str, kind: NodeKind) -> Site | None:
        if path not in self._by_path:
            self._by_path[path] = self._looked_up(path, kind)
        return self._by_path[path]

    def called(self, path: str) -> int:
        """Return how often the node at ``path`` was called, as far as it is a site."""
        site = self._by_path.get(path)
        return site.calls if site is not None else 0

    def _looked_up(self, path: str, kind: NodeKind) -> Site | None:
        taps = dict(self._exact.get(path, {}))
        for tap in self._globs:
            if _fits(tap.quantity, kind) and matches(tap.path, path, kind):
                taps[tap.quantity] = Tap(path, tap.quantity)
        interventions = tuple(
            each
            for wanted, several in self._plan.interventions.items()
            if wanted == path or (is_glob(wanted) and matches(wanted, path, kind))
            for each in several
        )
        is_live = path in self._live
        if not (taps or interventions or is_live):
            return None
        due = {
            quantity: tap
            for quantity, tap in taps.items()
            if self._plan.needs_backward or not quantity.is_gradient
        }
        return Site(path, kind, taps, due, interventions, is_live)


def _fits(quantity: Quantity, kind: NodeKind) -> bool:
    """Whether a glob means ``quantity`` too where it meets a node of ``kind``."""
    if kind in (NodeKind.PARAMETER, NodeKind.INPUT):
        return quantity in _OF_A_VALUE
    return kind is NodeKind.MODULE or not quantity.is_of_parameters
