"""Find modules, parameters and buffers by path, and describe a model as a tree of Nodes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from hookviewer.engine.errors import UnknownPathError
from hookviewer.engine.node import Node, NodeKind
from hookviewer.engine.unwrap import compiled_wrappers, named_modules, unwrapped


class Paths:
    """The modules and tensors of one model, by path; shared ones under each of their paths.

    Any callable has at least a root; only an ``nn.Module``, or what wraps one, has anything below.

    Attributes:
        model: What is called.
        root: The module that paths begin at; None without one.
    """

    def __init__(self, model: Callable[..., Any]) -> None:
        found = unwrapped(model)
        self.model, self.root = found.call, found.module
        self.modules: dict[str, nn.Module] = {}
        self.by_module: dict[nn.Module, list[str]] = {}
        """Every module once, with all its paths."""
        self.wrappers = compiled_wrappers(self.root) if self.root is not None else []
        """Modules that have no path."""
        if self.root is not None:
            for name, module in named_modules(self.root):
                path = _escaped(name)
                self.modules[path] = module
                self.by_module.setdefault(module, []).append(path)

    @cached_property
    def parameters(self) -> list[Tensor]:
        """Every parameter once, as it was when first asked for."""
        return _each_once(module._parameters for module in self.by_module)

    @cached_property
    def buffers(self) -> list[Tensor]:
        """Every buffer once, as it was when first asked for."""
        return _each_once(module._buffers for module in self.by_module)

    def owner(self, path: str) -> tuple[str, str] | None:
        """Return (module path, name) of the parameter or buffer at ``path``, or None."""
        owner, _, escaped = path.rpartition(".")
        module = self.modules.get(owner)
        names = own_tensors(module) if module is not None else ()
        return next(((owner, name) for name in names if _escaped(name) == escaped), None)

    def parameter_paths(self) -> Iterator[str]:
        """Yield the path of every parameter, a shared one's under each of its modules."""
        for owner, module in self.modules.items():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    yield _below(owner, name)

    def check(self, path: str) -> None:
        """Raise ``UnknownPathError`` unless ``path`` names a node.

        Of inputs and operations only the model's call shows which there are; an operation's module
        must be there.
        """
        module, is_operation = split_operation(path)
        known = module in self.modules or module == ""
        if path.startswith("input:") or known or (not is_operation and self.owner(path)):
            return
        raise UnknownPathError(path, [*self.modules, *self._tensor_paths()])

    def _tensor_paths(self) -> Iterator[str]:
        for owner, module in self.modules.items():
            for name in own_tensors(module):
                yield _below(owner, name)


def split_operation(path: str) -> tuple[str, str]:
    """Return the path of an operation's module and the operation's name, which is else empty."""
    module, slash, name = path.rpartition("/")
    is_escaped = (len(module) - len(module.rstrip("\\"))) % 2 == 1
    return (path, "") if not slash or is_escaped else (module, name)


def own_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and buffers that belong to ``module`` itself, by name."""
    own = {**module._parameters, **module._buffers}
    return {name: tensor for name, tensor in own.items() if tensor is not None}


def is_uninitialised(tensor: Tensor) -> bool:
    """Whether ``tensor`` belongs to a lazy module and has no shape yet."""
    return is_lazy(tensor)


def is_scripted(module: nn.Module) -> bool:
    """Whether ``module`` is TorchScript, of which nothing can be recorded."""
    return _is_script(type(module))  # type: ignore[arg-type]  # a class can be hashed


@cache
def _is_script(kind: Any) -> bool:
    return issubclass(kind, torch.jit.ScriptModule)


def is_container(module: nn.Module) -> bool:
    """Whether ``module`` only holds others and cannot be called, as ``ModuleList``."""
    return not is_scripted(module) and type(module).forward is nn.Module.forward


def build_tree(model: Callable[..., Any]) -> Node:
    """Describe ``model`` and everything below it; a shared module stands at each of its paths."""
    modules = Paths(model).modules
    if not modules:
        name = getattr(model, "__name__", type(model).__name__)
        return Node("", name, NodeKind.MODULE, "function")
    below: dict[str, list[str]] = {path: [] for path in modules}
    for path in modules:
        if path:
            below[_parent(path)].append(path)
    built: dict[str, Node] = {}
    for path in reversed(modules):  # children come after their parents
        built[path] = _module_node(path, modules, [built[child] for child in below[path]])
    return built[""]


def _module_node(path: str, modules: dict[str, nn.Module], children: list[Node]) -> Node:
    module = modules[path]
    parameters = {id(p): p for p in module.parameters() if not is_uninitialised(p)}
    return Node(
        path=path,
        name=path.rpartition(".")[2] or type(module).__name__,
        kind=NodeKind.MODULE,
        type_name=type(module).__name__,
        parameter_count=sum(p.numel() for p in parameters.values()),
        is_container=is_container(module),
        children=(*children, *_tensor_nodes(path, module)),
    )


def _tensor_nodes(owner: str, module: nn.Module) -> Iterator[Node]:
    for name, tensor in own_tensors(module).items():
        lazy = is_uninitialised(tensor)
        is_parameter = name in module._parameters
        yield Node(
            path=_below(owner, name),
            name=name,
            kind=NodeKind.PARAMETER if is_parameter else NodeKind.BUFFER,
            type_name=str(tensor.dtype).removeprefix("torch."),
            parameter_count=tensor.numel() if is_parameter and not lazy else 0,
            shape=None if lazy else tuple(tensor.shape),
        )


def _each_once(named: Iterable[Mapping[str, Tensor | None]]) -> list[Tensor]:
    tensors = [t for each in named if each for t in each.values() if t is not None]
    return list(dict(zip(map(id, tensors), tensors, strict=True)).values())


def _below(owner: str, name: str) -> str:
    return f"{owner}.{_escaped(name)}" if owner else _escaped(name)


def _parent(path: str) -> str:
    return path.rpartition(".")[0]  # torch refuses dots in the names of modules


def _escaped(path: str) -> str:
    for character in "\\/:":
        path = path.replace(character, f"\\{character}")
    return path
