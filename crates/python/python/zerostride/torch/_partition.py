"""Owns how a graph is divided: which nodes run together in the engine, and which PyTorch runs.

Every node has a level: the largest level of its inputs, plus one where the graph changes between PyTorch and the engine. Levels
never fall along an edge, and a path that leaves the engine and comes back rises. So the engine's nodes of one level can form one
partition without a cycle.
"""

import heapq
import operator

import torch
import torch.fx.graph

from . import _cost, _support
from ._plan import Partition
from ._support import Call


def divide(module, record):
    """A module that computes what a graph does, with partitions in place of what the engine runs."""
    graph, found = module.graph, _support.support(module.graph)
    whole = _whole(module, found)
    if whole is not None:
        return _rebuilt(*whole, record)
    surroundings = _cost.surroundings(_support.device(graph), _cost.ALONE if _is_formula(graph, found) else _cost.AMONG)
    kept = (node.meta.get("val") for node in graph.nodes if not isinstance(found[node], Call))
    stored = max((_cost.elements(value) for value in kept if value is not None), default=0)
    for node, call in found.items():
        if _is_computed(call) and _cost.slower(node, stored, surroundings):
            found[node] = "PyTorch's kernel is faster"
    partitions = {}
    for nodes in _groups(graph, found):
        partition = _partition(nodes, found, surroundings)
        reason = partition.reason()
        if reason is None:
            partitions |= dict.fromkeys(nodes, partition)
        else:
            found |= dict.fromkeys(nodes, reason)
    return _rebuilt(module, found, partitions, record)


def _partition(nodes, found, surroundings, theirs=None):
    """Nodes as a partition, which other nodes read; PyTorch would run ``theirs``, by default what the nodes alone need."""
    inside = set(nodes)
    left = {node for node in nodes if any(user not in inside for user in _through(node, found))}
    return Partition(nodes, found, left, surroundings, theirs)


def _is_formula(graph, found):
    """Whether the engine can run all of a graph."""
    return all(isinstance(found[node], Call) for node in graph.nodes if node.op == "call_function")


def _whole(module, found):
    """A module, what its nodes are, and their one partition, where the engine can run all of a graph, and is faster; else
    ``None``. Of operations for which PyTorch has kernels the formulas are tried."""
    theirs = [node for node in module.graph.nodes if node.op == "call_function"]
    if not _is_formula(module.graph, found):
        if not _support.has_formulas(module.graph, found):
            return None
        module = _support.opened(module)
        found = _support.support(module.graph)
    nodes = [node for node in module.graph.nodes if _is_computed(found[node])]
    if not nodes or not _is_formula(module.graph, found):
        return None
    partition = _partition(nodes, found, _cost.surroundings(_support.device(module.graph), _cost.WHOLE), theirs)
    return None if partition.reason() else (module, found, dict.fromkeys(nodes, partition))


def _is_computed(call):
    return isinstance(call, Call) and not call.arranges


def _is_arranged(call):
    return isinstance(call, Call) and call.arranges


def _ordered(node):
    """Whether a node must keep its place among others of its kind, as random numbers do."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return node.op == "call_function" and node.is_impure()
    return torch.Tag.nondeterministic_seeded in node.target.tags or node.target._schema.is_mutable or node.is_impure()


def _levels(graph, found):
    """The level of each node: even where the engine runs it, odd where PyTorch does. A view, copy or constant has the level
    of its inputs."""
    levels, before = {}, -1
    for node in graph.nodes:
        level = max((levels[source] for source in node.all_input_nodes), default=-1)
        if _ordered(node):
            level = max(level, before)
        if not _is_arranged(found[node]):
            level += level % 2 != (0 if _is_computed(found[node]) else 1)
        levels[node] = level
        if _ordered(node):
            before = level
    return levels


def _through(node, found):
    """The users of a node; a view or copy is replaced by its own users."""
    for user in node.users:
        if _is_arranged(found[user]):
            yield from _through(user, found)
        else:
            yield user


def _sources(node, found):
    """The nodes that a node reads; a view or copy is replaced by its own inputs."""
    for source in node.all_input_nodes:
        if _is_arranged(found[source]):
            yield from _sources(source, found)
        else:
            yield source


def _sink(graph, found, levels):
    """Moves nodes that depend on inputs of the graph alone to the level of their users: these inputs stay in memory anyway."""
    early = set()
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            early.add(node)
        elif isinstance(found[node], Call) and all(source in early for source in node.all_input_nodes):
            early.add(node)
    for node in reversed(graph.nodes):
        several = isinstance(node.meta.get("val"), (tuple, list)) or node.target is operator.getitem
        if node in early and _is_computed(found[node]) and not several:
            users = set(_through(node, found))
            if users and all(_is_computed(found[user]) for user in users):
                levels[node] = min(levels[user] for user in users)


def _groups(graph, found):
    """The computed nodes that run together, each group in the graph's order."""
    levels = _levels(graph, found)
    _sink(graph, found, levels)
    leader = {}

    def leading(node):
        while leader.setdefault(node, node) is not node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    readers = {}
    for node in graph.nodes:
        if not _is_computed(found[node]):
            continue
        for source in _sources(node, found):
            # One group with the nodes that it reads, and with nodes that read the same.
            first = readers.setdefault((source, levels[node]), node)
            leader[leading(node)] = leading(first)
            if _is_computed(found[source]) and levels[source] == levels[node]:
                leader[leading(node)] = leading(source)
    groups = {}
    for node in graph.nodes:
        if _is_computed(found[node]):
            groups.setdefault(leading(node), []).append(node)
    return list(groups.values())


def _rebuilt(module, found, partitions, record):
    graph = module.graph
    # Views, copies and constants that PyTorch's nodes read.
    shown = set()
    for node in reversed(graph.nodes):
        if _is_arranged(found[node]):
            if any(user in shown or not isinstance(found[user], Call) for user in node.users):
                shown.add(node)
    new, place, made = torch.fx.Graph(), {node: number for number, node in enumerate(graph.nodes)}, {}
    new.set_codegen(_Boxed())

    units, unit_of = {}, {}
    for node in graph.nodes:
        if node in partitions:
            unit_of[node] = partitions[node]
            units.setdefault(partitions[node], place[node])
        elif node in shown or not _is_arranged(found[node]):
            unit_of[node] = node
            units[node] = place[node]
    waits, users, before = {}, {}, None
    for unit in units:
        sources = unit.inputs if isinstance(unit, Partition) else unit.all_input_nodes
        needed = {unit_of[source] for source in sources}
        if not isinstance(unit, Partition) and (_ordered(unit) or unit.op == "placeholder"):
            needed |= {before} - {None}
            before = unit
        waits[unit] = len(needed)
        for source in needed:
            users.setdefault(source, []).append(unit)
    ready = [(number, unit) for unit, number in units.items() if waits[unit] == 0]
    heapq.heapify(ready)
    while ready:
        _, unit = heapq.heappop(ready)
        if isinstance(unit, Partition):
            unit.name_it(len(record.partitions))
            record.partitions.append(unit)
            result = new.call_function(unit, tuple(made[source] for source in unit.inputs))
            for number, node in enumerate(unit.outputs):
                made[node] = new.call_function(operator.getitem, (result, number))
        else:
            made[unit] = new.node_copy(unit, made.__getitem__)
            record.left(unit, "a view, copy or constant" if isinstance(found[unit], Call) else found[unit])
        for user in users.get(unit, ()):
            waits[user] -= 1
            if waits[user] == 0:
                heapq.heappush(ready, (units[user], user))
    return torch.fx.GraphModule(module, new)


def whole(divided, record):
    """A divided graph as a function of its arguments, if one partition of them computes all results, else ``None``."""
    nodes = list(divided.graph.nodes)
    arguments = [node for node in nodes if node.op == "placeholder"]
    called, results = nodes[len(arguments) : len(arguments) + 1], nodes[-1].args[0]
    if not (called and isinstance(called[0].target, Partition) and set(called[0].args) <= set(arguments)):
        return None
    if not all(isinstance(result, torch.fx.Node) and result.args[:1] == tuple(called) for result in results):
        return None
    partition, read = called[0].target, [arguments.index(node) for node in called[0].args]
    made = [result.args[1] for result in results]
    if (read, made) == (list(range(len(arguments))), list(range(len(partition.outputs)))):
        partition.record = record  # A report is there as long as what it is about.
        return partition.__call__

    def run(*arguments, record=record):
        found = partition(*[arguments[place] for place in read])
        return [found[place] for place in made]

    return run


class _Boxed(torch.fx.graph.CodeGen):
    """Code that takes its arguments in a list and empties it, so that each is freed after its last use."""

    def gen_fn_def(self, free_vars, maybe_return_annotation, **_):
        names = [variable.partition(":")[0].strip() for variable in free_vars if variable != "self"]
        takes = "".join(f"\n    {name} = arguments[{number}]" for number, name in enumerate(names))
        return f"def {self._func_name}(self, arguments){maybe_return_annotation}:{takes}\n    arguments.clear()"
