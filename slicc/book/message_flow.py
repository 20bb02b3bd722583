"""Who sends which messages to whom on which virtual network: a graph of the protocol's machines.

A receiver that the text takes from a message or a table may be any machine that reads such a
message from that network. Invariant: the same protocol gives the same graph.
"""

from __future__ import annotations

from collections.abc import Iterator

import graphviz

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.sends import Send, sends_of
from slicc.book.places import Place
from slicc.book.state_diagram import COLORS, beside_an_edge, label_lines, node_size
from slicc.text.markup import dot_html, dot_text, dot_tooltip

Flow = dict[tuple[str, str, int], tuple[str, ...]]
"""By sender, receiver and virtual network, what is sent."""


def message_flow(facts: list[MachineFacts]) -> Flow:
    """Machines by their names; in the order of the text."""
    found: dict[tuple[str, str, int], dict[str, None]] = {}
    for sender in facts:
        for sends in sends_of(sender).values():
            for send in sends:
                if send.network is None:
                    continue
                for receiver in _receivers(send, send.network, facts):
                    edge = (sender.machine.name, receiver, send.network)
                    kinds = send.kinds or (send.enqueue.message.name,)
                    found.setdefault(edge, {}).update(dict.fromkeys(kinds))
    return {edge: tuple(kinds) for edge, kinds in found.items()}


def _receivers(send: Send, network: int, facts: list[MachineFacts]) -> Iterator[str]:
    for each in facts:
        machine = each.machine
        if send.machines and (machine.machine_type or machine.name) not in send.machines:
            continue
        if any(_reads(each, port, send, network) for port in machine.in_ports):
            yield machine.name


def _reads(facts: MachineFacts, port: ir.InPort, send: Send, network: int) -> bool:
    link = facts.links.get(port.buffer)
    same = isinstance(port.message, ir.StructType) and port.message.ref == send.enqueue.message
    return same and link is not None and link.virtual_network == network


def flow_diagram(
    protocol: str,
    facts: list[MachineFacts],
    flow: Flow,
    place: Place,
) -> graphviz.Digraph:
    """The graph as a diagram, whose machines link to their chapters."""
    diagram = graphviz.Digraph(
        dot_text(protocol),
        graph_attr={"nodesep": "0.7", "ranksep": "0.9", "pad": "0.2", "bgcolor": "transparent"},
        node_attr={
            "fontname": "Helvetica",
            "fontsize": "13",
            "shape": "box",
            "style": "filled,rounded",
            "fillcolor": "#dcebf7",
            "color": "#33475b",
            "fontcolor": "#14202b",
        },
        edge_attr={"fontname": "Helvetica", "fontsize": "10", "arrowsize": "0.7"},
    )
    for each in facts:
        name = each.machine.name
        title = each.machine.title or name
        label = f"<<b>{dot_html(name)}</b>>"
        diagram.node(
            dot_text(name),
            label,
            URL=place(f"m-{name}", f"m-{name}"),
            tooltip=dot_tooltip(title),
            **node_size(sum(name in edge[:2] for edge in flow)),
        )
        if each.processor_ports:
            diagram.node(f"({name})", "processor", shape="ellipse", fillcolor="#f2f7fb")
            diagram.edge(f"({name})", dot_text(name), color="#8a96a3", tooltip="requests")
        if each.memory_ports:
            diagram.node(f"[{name}]", "memory", shape="cylinder", fillcolor="#f2f7fb")
            diagram.edge(dot_text(name), f"[{name}]", dir="both", color="#8a96a3", tooltip="memory")
    for (sender, receiver, network), kinds in flow.items():
        color = COLORS[network % len(COLORS)]
        lines = [f"network {network}"]
        if sender != receiver:  # Graphviz does not keep other edges off the label of a loop
            lines += label_lines(kinds, 26, 5)
        diagram.edge(
            dot_text(sender),
            dot_text(receiver),
            beside_an_edge(lines),
            color=color,
            fontcolor=color,
            tooltip=dot_tooltip(f"network {network}: {', '.join(kinds)}"),
        )
    return diagram
