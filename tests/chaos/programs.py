"""Programs for chaos: random, valid, and full of effects that overlap.

Every call carries an id that is unlike every other in the whole chaos: the run's name, the piece
of the program, the turn of its loop.  So the files of the upstream servers say of each call how
often it arrived.
"""

from collections.abc import Callable
from random import Random

from tests.chaos.site import SERVERS

INNER = """
const first = await mcp.a.write({ id: `${args.id}.w1` });
const [left, right] = await Promise.all([
  mcp.b.read({ id: `${args.id}.r1` }), mcp.c.write({ id: `${args.id}.w2` }),
]);
await mcp.b.put({ id: `${args.id}.p1` });
return [first.id, left.id, right.id];
"""
"""The capability that programs call."""


def program(random: Random, capability: str) -> str:
    """A program over ``args.run``, of two to five pieces."""
    pieces = random.choices(_PIECES, weights=_WEIGHTS, k=random.randint(2, 5))
    body = [
        piece(random, f"${{args.run}}.{number}", capability) for number, piece in enumerate(pieces)
    ]
    return "\n".join(["const out = [];", *body, "return out;"])


def replanned() -> str:
    """What a run is replaced with: it sees what was finished."""
    return """
const known = Object.keys(context).length;
await mcp.a.write({ id: `${args.run}.again` });
return known;
"""


def _tool(random: Random, *tools: str) -> str:
    return f"mcp.{random.choice(SERVERS)}.{random.choice(tools)}"


def _any(random: Random) -> str:
    return _tool(random, "read", "put", "write", "write")


def _loop(random: Random, name: str, _: str) -> str:
    count = random.randint(2, 5)
    return f"""for (let i = 0; i < {count}; i++) {{
  const it = await {_any(random)}({{ id: `{name}.${{i}}.a` }});
  await {_tool(random, "write")}({{ id: `{name}.${{i}}.b` }});
  out.push(it.id);
}}"""


def _all(random: Random, name: str, _: str) -> str:
    calls = ", ".join(
        f"{_any(random)}({{ id: `{name}.{i}` }})" for i in range(random.randint(3, 6))
    )
    return f"out.push(...(await Promise.all([{calls}])).map((it) => it.id));"


def _map(random: Random, name: str, _: str) -> str:
    turns = list(range(random.randint(2, 5)))
    return f"""out.push(...await Promise.all({turns}.map(async (i) => {{
  const it = await {_any(random)}({{ id: `{name}.${{i}}.a` }});
  await {_tool(random, "write", "put")}({{ id: `{name}.${{i}}.b` }});
  return it.serial;
}})));"""


def _race(random: Random, name: str, _: str) -> str:
    return f"""out.push((await Promise.race([
  {_tool(random, "write")}({{ id: `{name}.x` }}),
  {_tool(random, "read")}({{ id: `{name}.y` }}),
])).id);"""


def _timer(random: Random, name: str, _: str) -> str:
    slow = f"slow{name.rpartition('.')[2]}"
    return f"""const {slow} = {_tool(random, "write")}({{ id: `{name}.slow` }});
out.push(await Promise.race([
  {slow}.then((it) => it.id),
  new Promise((resolve) => setTimeout(() => resolve("late"), {random.randint(1, 60)})),
]));
out.push(Date.now() % 2 === 0 ? (await {_any(random)}({{ id: `{name}.even` }})).id : "odd");
await {slow};"""


def _settled(random: Random, name: str, _: str) -> str:
    return f"""for (const it of await Promise.allSettled([
  {_tool(random, "fail")}({{ id: `{name}.f` }}), {_tool(random, "write")}({{ id: `{name}.w` }}),
])) out.push(it.status);
try {{
  await {_tool(random, "fail")}({{ id: `{name}.g` }});
}} catch (error) {{
  out.push("no");
}}"""


def _dice(random: Random, name: str, _: str) -> str:
    return f"""if (Math.random() < 0.5) {{
  out.push((await {_tool(random, "write")}({{ id: `{name}.heads` }})).serial);
}} else {{
  out.push((await {_tool(random, "put")}({{ id: `{name}.tails` }})).serial);
}}"""


def _nested(random: Random, name: str, capability: str) -> str:
    return f"""out.push(...await Promise.all([
  capabilities.{capability}({{ id: `{name}.n` }}), {_tool(random, "write")}({{ id: `{name}.m` }}),
]));"""


def _guarded(random: Random, name: str, _: str) -> str:
    return f"out.push((await {_tool(random, 'guarded')}({{ id: `{name}` }})).id);"


_Piece = Callable[[Random, str, str], str]
_WEIGHTED: dict[_Piece, int] = {
    _loop: 4,
    _all: 4,
    _map: 4,
    _race: 3,
    _timer: 3,
    _settled: 2,
    _dice: 2,
    _nested: 3,
    _guarded: 1,
}
_PIECES, _WEIGHTS = list(_WEIGHTED), list(_WEIGHTED.values())
