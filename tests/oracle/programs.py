"""Random programs of the constructs that agents write; each one terminates by construction.

A program is a function of its seed.  Loops run over short arrays or count a variable that
nothing else writes.
"""

import re
from collections.abc import Iterable

from hypothesis import strategies as st

from tests.oracle.dice import Chunk, Dice, Seeded
from tests.oracle.expressions import Var
from tests.oracle.scenario import Case
from tests.oracle.typescript import TypeScript

ARGS = {"n": 3, "name": "agent", "items": ["x", "y", "zz"], "flag": True, "limit": 2}


class Writer(TypeScript):
    """Writes one program."""

    def block(self, depth: int, size: int = 2) -> list[str]:
        kept, promised = len(self.vars), len(self.promises)
        lines = [
            line for _ in range(self.dice.randint(1, size)) for line in self.statement(depth - 1)
        ]
        del self.vars[kept:]
        del self.promises[promised:]
        return ["  " + line for line in lines]

    def statement(self, depth: int) -> list[str]:
        flat = [self.let, self.let, self.let, self.show, self.show, self.destructure, self.assign]
        flat += [self.constant] * 3
        flat += [
            self.logic,
            self.unawaited,
            self.timer,
            self.noise,
            self.jump,
            self.chain,
            self.values,
        ]
        deep = [self.if_else, self.if_else, self.switch, self.parallel, self.parallel, self.loop]
        deep += [self.loop, self.loop, self.attempt, self.attempt, self.callback, self.closure]
        flat += [self.recursion, self.defaults, self.closure_state, self.ternaries, self.typed]
        flat += [self.assignments, self.chains, self.combinators, self.promise_chains]
        flat += [
            self.patterns,
            self.building,
            self.error_data,
            self.named,
            self.named,
            self.lexical,
        ]
        deep += [self.iife, self.handed_on, self.generator, self.async_generator, self.klass]
        deep += [self.finals, self.loops, self.switches, *[self.array_callbacks] * 3]
        return self.dice.choice(flat + deep if depth > 0 else flat)(depth)

    def if_else(self, depth: int) -> list[str]:
        test = f"{self.call('stat')}.exists" if self.chance(30) else self.pure("bool")
        if self.chance(15):
            return [f"if ({test}) {self.any_call()};", f"else {self.any_call()};"]
        lines = [f"if ({test}) {{", *self.block(depth)]
        if self.chance(30):
            lines += [f"}} else if ({self.pure('bool')}) {{", *self.block(depth)]
        if self.chance(55):
            lines += ["} else {", *self.block(depth)]
        return [*lines, "}"]

    def switch(self, depth: int) -> list[str]:
        text = self.chance(50)
        subject = f"({self.call('res')}).status" if text else self.call("num")
        cases = ['"open"', '"closed"', '"merged"'] if text else ["0", "1", "2"]
        loop, self.in_loop = self.in_loop, False  # break means the switch
        lines = [f"switch ({subject}) {{"]
        default = self.dice.choice([None, None, 1, 3])
        for number, case in enumerate(cases):
            if default == number:
                lines += ["  default: {", *self.block(depth), "  }"]
            lines.append(f"  case {case}: {{")
            if self.chance(80):
                lines += self.block(depth)
            lines += ["  }", *["  break;"] * self.chance(65)]
        if default == 3:
            lines += ["  default:", f"    out.push({self.any_call()});"]
        self.in_loop = loop
        return [*lines, "}"]

    def loop(self, depth: int) -> list[str]:
        outer, self.in_loop = self.in_loop, True
        label = [self.fresh("loop")] if self.chance(25) else []
        self.labels += label
        kept = len(self.vars)
        lines = self.loop_lines(depth)
        del self.vars[kept:]
        self.in_loop = outer
        if label:
            self.labels.pop()
            head = next(
                i for i, line in enumerate(lines) if line.startswith(("for", "while", "do"))
            )
            lines[head] = f"{label[0]}: {lines[head]}"
        return lines

    def loop_lines(self, depth: int) -> list[str]:
        i = self.fresh("i")
        match self.dice.randrange(7):
            case 0:
                self.vars.append(Var(i, "num"))
                head = f"for (let {i} = 0; {i} < {self.dice.randint(1, 3)}; {i}++) {{"
            case 1:
                items = self.call("strs") if self.chance(40) else self.pure("strs")
                self.vars.append(Var(i, "str"))
                head = f"for (const {i} of {items}) {{"
            case 2:
                head = f"for (const {i} in {{ a: 1, b: {self.call('num')} }}) {{"
                self.vars.append(Var(i, "str"))
            case 3:
                head = f"for (const [{i}, val] of Object.entries({self.call('stat')})) {{"
                self.vars.append(Var(i, "str"))
            case 4:
                start = f"let {i} = 0;"
                head = f"while ({i}++ < 2 && {self.call('num')} < 3) {{"
                return [start, head, *self.block(depth), "}"]
            case 5:
                tail = f"}} while ({i}++ < 1 && {self.call('stat')}.exists);"
                return [f"let {i} = 0;", "do {", *self.block(depth), tail]
            case _:
                promises = f"[{self.promise('num')}, {self.promise('str')}, 7]"
                head = f"for await (const {i} of {promises}) {{"
                return [head, f"  out.push({i});", *self.block(depth), "}"]
        return [head, *self.block(depth), "}"]

    def attempt(self, depth: int) -> list[str]:
        broken = [f"  {self.dice.choice(['await mcp.api.broken({ why: 1 })', self.call('res')])};"]
        lines = ["try {", *self.block(depth), *broken * self.chance(60)]
        form = self.dice.randrange(4)
        if form < 3:
            e = self.fresh("e")
            note = ": any" if self.chance(50) else ""
            if form == 0:
                lines += ["} catch {", *self.block(depth)]
            else:
                lines += [f"}} catch ({e}{note}) {{", *self.block(depth)]
                lines += [f"  out.push([({e} as any).name, ({e} as any).code, ({e} as any).data]);"]
                lines += [f"  if ({self.pure('bool')}) throw {e};"] * self.chance(15)
        if form == 3 or self.chance(35):
            loop, self.in_loop = self.in_loop, False
            labels, self.labels = self.labels, []
            lines += ["} finally {", f"  out.push({self.any_call()});"]
            self.in_loop, self.labels = loop, labels
        return [*lines, "}"]

    def closure(self, depth: int) -> list[str]:
        name, kind = self.fresh("run"), self.dice.choice(["num", "str", "stat"])
        body = self.body(depth, kind, "x")
        call = f"out.push(await {name}({self.pure('str')}));"
        form = self.dice.randrange(4)
        if form == 0:
            return [f"const {name} = async (x: string) => {{", *body, "};", call]
        if form == 1:
            return ["out.push(await (async (x) => {", *body, f"}})({self.pure('str')}));"]
        if form == 2:
            return [
                f"class K{name} {{ static async go(x: string) {{",
                *body,
                "} }",
                f"out.push(await K{name}.go('k'));",
            ]
        return [
            f"const {name} = {{ async go(x) {{",
            *body,
            "} };",
            f"out.push(await {name}.go('o'));",
        ]

    def body(self, depth: int, kind: str, parameter: str) -> list[str]:
        """Statements of a function of one string, which returns a value of the kind."""
        loop, self.in_loop = self.in_loop, False
        labels, self.labels = self.labels, []
        kept, promised = len(self.vars), len(self.promises)
        self.vars.append(Var(parameter, "str"))
        lines = [line for line in self.block(depth) if "{ early:" not in line]
        lines.append(f"  return {self.call(kind)};")
        del self.vars[kept:]
        del self.promises[promised:]
        self.in_loop, self.labels = loop, labels
        return lines

    def prologue(self) -> list[str]:
        lines = ["const out: any[] = [];"]
        lines.append("const tag = (parts: any, ...v: any[]) => parts.join('|') + v.length;")
        if self.chance(30):
            lines.append("const { fs, db: { count: tally } } = mcp;")
            for tool in ("fs.read", "fs.list", "fs.stat", "fs.write"):
                self.tools[tool] = [tool]
            self.tools["db.count"] = ["tally"]
        if self.chance(30):
            lines.append("const ask = mcp.api.fetch, look = mcp.kv;")
            self.tools["api.fetch"], self.tools["kv.get"] = ["ask"], ["look.get"]
        for number in range(self.dice.randint(0, 2)):
            name, kind = f"helper{number}", self.dice.choice(["num", "str", "stat", "page"])
            body = self.body(1, kind, "given")
            if self.chance(50):
                lines += [f"async function {name}(given: string) {{", *body, "}"]
            else:
                lines += [f"const {name} = async (given: string, more = 1) => {{", *body, "};"]
            self.functions.append((name, kind))
        return lines

    def roomy(self, line: str) -> str:
        """More space and comments between tokens; inside strings they are only text."""
        whole = ("my server", "(?<g>")  # a name and a regular expression, in which spaces count
        if line.lstrip().startswith("/") or any(part in line for part in whole):
            return line  # a comment cannot hold another
        odd = [" /* mcp.fs.read( } */ ", "  "]
        return re.sub(
            r"(?<=\S) (?=\S)", lambda _: self.dice.choice(odd) if self.chance(10) else " ", line
        )

    def program(self, statements: Iterable[Dice]) -> str:
        """The text; every statement at the top has choices of its own."""
        returns, roomy, windows = self.chance(85), self.chance(15), self.chance(10)
        lines, own = self.prologue(), self.dice
        for self.dice in statements:
            lines += self.statement(2)
        self.dice = own
        if returns:
            lines.append("return { out };")
        if roomy:
            lines = [self.roomy(line) for line in lines]
        text = "\n".join(lines)
        return text.replace("\n", "\r\n") if windows else text


def case(seed: int) -> Case:
    """The program of a seed, in the world of the same seed."""
    return written(Seeded(seed), seed)


def written(dice: Dice, seed: int) -> Case:
    """The program of some choices, in the world of a seed."""
    return _case(dice, [dice] * dice.randint(2, 6), seed)


def _case(dice: Dice, statements: Iterable[Dice], seed: int) -> Case:
    source = Writer(dice).program(statements)
    return Case(source=source, args=ARGS, parameters=("limit",), seed=seed)


_MOST_STATEMENTS = 7
_DRAWN = 1 + Chunk.SIZE * (1 + _MOST_STATEMENTS)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Programs of the whole grammar with their worlds; they shrink statement by statement.

    All is one draw: of several, hypothesis would repeat parts, and have far fewer programs.
    """
    drawn = draw(st.binary(min_size=_DRAWN, max_size=_DRAWN))
    first, *chunks = (drawn[at : at + Chunk.SIZE] for at in range(1, _DRAWN, Chunk.SIZE))
    statements = [Chunk(chunk) for chunk in chunks if chunk[-1] != 0]
    return _case(Chunk(first), statements, drawn[0])
