"""Random expressions of a program: pure ones by kind of value, and tool calls.

Values are chosen by kind, so that most programs work with what they get, and some fail as
real ones do.
"""

from dataclasses import dataclass

from tests.oracle.dice import Dice

CALLS: dict[str, tuple[str, ...]] = {
    "num": ("db.count",),
    "str": ("fs.read",),
    "strs": ("fs.list",),
    "stat": ("fs.stat",),
    "page": ("db.query",),
    "maybe": ("kv.get",),
    "res": ("api.fetch", "api.flaky"),
    "done": ("fs.write", "kv.set"),
}
"""Tools by the kind of their result (`tests.oracle.scenario.answer`)."""
KINDS = tuple(CALLS)
ODD_NAMES = ("größe", "$v", "_v", "変数", "\\u0076e", "v\\u{61}")
STRINGS = (
    '"plain"',
    "'it\\'s'",
    '"mcp.fs.read({ path })"',
    "`back\\`tick`",
    '"größe \N{ROCKET} \\u{1F680}"',
    "'//no comment'",
    '"/* nor this */"',
    '"a\\nb"',
    '"line\u2028sep\u2029end"',
    "'</script><!-- \\\nover two lines'",
    '"}; await mcp.fs.read({"',
)


@dataclass(frozen=True, slots=True)
class Var:
    """A name in scope."""

    name: str
    kind: str
    writable: bool = False


class Expressions:
    """Writes expressions; the scope is the stack of names that are surely initialised."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.vars: list[Var] = []
        self.tools: dict[str, list[str]] = {}
        self.functions: list[tuple[str, str]] = []
        self.labels: list[str] = []
        self.promises: list[Var] = []
        self.in_loop = False
        self.sync = False
        """Whether the writer is inside a function that cannot await."""
        self.counter = 0

    # --- small parts

    def chance(self, percent: int) -> bool:
        return self.dice.chance(percent)

    def fresh(self, stem: str = "v") -> str:
        self.counter += 1
        odd = self.dice.choice(ODD_NAMES) if self.chance(10) else stem
        return f"{odd}{self.counter}"

    def var(self, kind: str) -> str | None:
        names = [v.name for v in self.vars if v.kind == kind]
        return self.dice.choice(names[-4:]) if names else None

    def new(self, name: str, kind: str) -> Var:
        """A name that the program is about to declare."""
        return Var(name, kind)

    def declare(self, kind: str, *, writable: bool = False) -> str:
        name = self.fresh()
        self.vars.append(Var(name, kind, writable))
        return name

    # --- pure expressions

    def pure(self, kind: str, depth: int = 2) -> str:
        known = self.var(kind)
        if known and (depth <= 0 or self.chance(55)):
            return known
        deeper = depth - 1
        match kind:
            case "num":
                return self.num(deeper)
            case "str":
                return self.text(deeper)
            case "bool":
                return self.truth(deeper)
            case "strs":
                return self.texts()
            case _:
                return self.rows() if kind == "rows" else "null"

    def texts(self) -> str:
        rows = self.var("rows")
        options = ["args.items", f"[{self.pure('str', 0)}, {self.pure('str', 0)}]"]
        if rows:
            options += [f"{rows}.map((r) => r.name)", f"{rows}.flatMap((r: any) => r.tags)"]
        return self.dice.choice(options)

    def rows(self) -> str:
        page = self.var("page")
        return f"{page}.rows" if page else '[{ id: 1, name: "one", tags: ["t"], ok: true }]'

    def num(self, depth: int) -> str:
        if depth <= 0:
            return self.dice.choice(["0", "1", "2", "args.n", "limit", "0x10", "1_000"])
        a, b = self.pure("num", depth), self.pure("num", depth)
        return self.dice.choice(
            [
                f"({a} + {b})",
                f"Math.max({a}, {b})",
                f"({a} % 3)",
                f"{self.pure('strs', depth)}.length",
                f"({self.pure('bool', depth)} ? {a} : {b})",
                f"[{a}, {b}].reduce((s, x) => s + x, 0)",
                f"({a} as number)",
            ]
        )

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.dice.choice([*STRINGS, "args.name"])
        a = self.pure("str", depth)
        return self.dice.choice(
            [
                f"`${{{a}}}-${{{self.pure('num', depth)}}}`",
                f"({a} + {self.pure('str', depth)})",
                f"String({self.pure('num', depth)})",
                f"{a}.replace(/[/\"'\\s]/g, '-')",
                f"{self.pure('strs', depth)}.join('/')",
                f"({self.pure('strs', depth)}[0] ?? {a})",
            ]
        )

    def truth(self, depth: int) -> str:
        if depth <= 0:
            return self.dice.choice(["true", "args.flag", "!args.flag", "args.n > 2"])
        stat, maybe = self.var("stat"), self.var("maybe")
        return self.dice.choice(
            [
                f"{self.pure('num', depth)} > {self.pure('num', depth)}",
                f"!{self.pure('bool', depth)}",
                f"{self.pure('str', depth)}.includes('a')",
                f"({self.pure('bool', depth)} && {self.pure('bool', depth)})",
                f"{stat}.exists" if stat else "args.flag",
                f"{maybe} != null" if maybe else "limit === 2",
            ]
        )

    # --- calls

    def callee(self, tool: str) -> str:
        server, name = tool.split(".")
        forms = [f"mcp.{tool}"] * 4 + [f'mcp["{server}"].{name}', f"mcp.{server}['{name}']"]
        forms += [f"mcp?.{tool}", f"mcp.{server}?.{name}", f"mcp[`{server}`].{name}"]
        forms += [f"mcp /*.*/.{tool}", f"mcp.{server}./*x(*/{name}", f"mcp!.{server}!.{name}"]
        forms += [f"mcp\n  // mcp.db.query(\n  .{server}\n  .{name}", f"(mcp as any).{tool}"]
        forms += [f"(mcp).{tool}", f"mcp.{server}.\\u{{{ord(name[0]):x}}}{name[1:]}"]
        return self.dice.choice(forms + 4 * self.tools.get(tool, []))

    def arguments(self) -> str:
        text = self.var("str")
        items = f"[{self.pure('str')}, {self.pure('num')}]"
        forms = [
            f"{{ path: {self.pure('str')} }}",
            f"{{ q: {self.pure('num')}, deep: {{ list: {items} }} }}",
            f"{{ ...{{ limit }}, path: {self.pure('str')} }}",
            f"{{ [`k${{{self.pure('num', 0)}}}`]: {self.pure('bool')} }}",
            f"{{ 'quoted-key': {self.pure('strs')}, n: -1.5e3, u: undefined, z: null }}",
            "{}",
            "",
        ]
        forms += self.written()
        known = [v.name for v in self.vars if v.kind not in ("bool", "num", "constant")]
        if known:
            name = self.dice.choice(known[-6:])
            forms += [f"{{ data: {name} }}", f"{{ deep: [{{ in: {name} }}] }}"] * 2
            forms += [f"{{ text: `<${{JSON.stringify({name})}}>` }}"]
        stat = self.var("stat") or self.var("page") or self.var("res")
        if stat:
            forms += [f"{{ ...{stat} }}", f"{{ a: 1, ...({stat} as any), limit }}"]
        if text and text.isascii():
            forms += [f"{{ {text} }}"] * 2
        if self.chance(7) and not self.sync:
            return f"{{ of: {self.call('num')} }}"
        return self.dice.choice(forms)

    def written(self) -> list[str]:
        """Arguments that are full of literals, which become parameters."""
        string, other = self.dice.choice(STRINGS), self.dice.choice(STRINGS)
        constants = [v.name for v in self.vars if v.kind == "constant"]
        forms = [
            f"{{ path: {string}, 'max-size': 0x10, deep: {{ list: [1, {other}, [], null] }} }}",
            f"{{ path: ({string} as string)!, deep: {{ n: {self.pure('num')}, o: {{ a: -1 }} }} }}",
            f"{{ ...{{ a: {string}, b: [{{ c: 1e3 }}, {self.pure('bool')}] }}, z: [{{}}] }}",
            f"{{ a: 1, a: {other}, __proto__: {{ gone: 1 }}, ['k']: 2, 7: true as const }}",
            f"{{ text: `two\nlines`, list: [, {string}, ...[1, 2]], path: args.name }}",
        ]
        forms += [f"{{ {name}, again: [{name}, 1] }}" for name in constants[-1:] if name.isascii()]
        return forms

    def promise(self, kind: str) -> str:
        """A call that is not awaited."""
        fitting = [name for name, result in self.functions if result == kind]
        if fitting and self.chance(25):
            return f"{self.dice.choice(fitting)}({self.pure('str')})"
        callee = self.callee(self.dice.choice(CALLS[kind]))
        optional = "?." if self.chance(5) else ""
        return f"{callee}{optional}({self.arguments()})"

    def call(self, kind: str) -> str:
        made = f"await {self.promise(kind)}"
        if kind == "res":
            made += ".catch((e: any) => ({ status: e.code, body: { items: [], total: -1 } }))" * (
                self.chance(50)
            )
        return f"({made})"

    def promise_in_sync(self, kind: str) -> str:
        outer, self.sync = self.sync, True
        made = self.promise(kind)
        self.sync = outer
        return made

    def any_call(self) -> str:
        return self.call(self.dice.choice(KINDS))
