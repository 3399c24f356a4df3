"""Random statements without a body of their own."""

from tests.oracle.expressions import KINDS, STRINGS, Expressions, Var

NOISE = (
    "// await mcp.fs.read({ path: 'nowhere' });",
    "/* mcp.api.fetch({}) \N{ROCKET} ünïcode */",
    "const RE = /[/\"'`{(]mcp\\.fs\\.read\\(/gu; out.push(RE.source.length);",
    "type Row = { id: number; name: string; tags?: readonly string[] };",
    "interface Page<T> { rows: T[]; next: number | null }",
    ";;",
)


class Statements(Expressions):
    """Writes statements, each as lines; a name that one declares is in scope afterwards."""

    def let(self, _: int) -> list[str]:
        kind = self.dice.choice(KINDS)
        value = self.call(kind)
        writable = self.chance(30)
        if self.chance(15):
            value = f"{self.pure('bool')} ? {value} : {self.call(kind)}"
        name = self.declare(kind, writable=writable)
        note = ": any" if self.chance(15) else ""
        return [f"{'let' if writable else 'const'} {name}{note} = {value};"]

    def constant(self, _: int) -> list[str]:
        value = self.dice.choice([*STRINGS, "0x1f", "-2", "null", "'x' as const"])
        name = self.declare("constant")
        note = f"if ({name} === {value}) out.push({self.any_call()});"
        return [f"const {name} = {value};", *[note] * self.chance(30)]

    def show(self, _: int) -> list[str]:
        kind = self.dice.choice([*KINDS, "bool"])
        shown = self.call(kind) if kind != "bool" and self.chance(40) else self.pure(kind)
        forms = [f"out.push({shown});", f"out.push([{shown}, {self.pure('str')}]);"]
        forms += [f"out.push(`got ${{JSON.stringify({shown})}}`);", f"out.push({self.any_call()});"]
        forms += [f"out.push({{ a: {shown}, b: {self.any_call()} }});"]
        forms += [f"out.push(tag`x${{{shown}}}y`);", f"out.push(...[{shown}]);"]
        return [self.dice.choice(forms)]

    def destructure(self, _: int) -> list[str]:
        a, b = self.fresh(), self.fresh()
        page, stat = self.call("page"), self.call("stat")
        form, kinds = self.dice.choice(
            [
                (f"const {{ rows: {a}, next: {b} = -1 }} = {page};", ("rows", "num")),
                (f"const {{ exists: {a}, ...{b} }} = {stat};", ("bool", "any")),
                (f"const [{a} = 'none', ...{b}] = {self.call('strs')};", ("str", "strs")),
                (f"const {{ missing: {a} = {self.call('num')}, size: {b} }} = {stat};", "nn"),
                (
                    f"const {{ rows: [{{ name: {a} }} = {{ name: 'no' }}], next: {b} }} = {page};",
                    "sm",
                ),
            ]
        )
        short = {"n": "num", "s": "str", "m": "maybe"}
        self.vars += [Var(n, short.get(k, k)) for n, k in zip((a, b), kinds, strict=True)]
        return [form, f"out.push({a}, {b});"]

    def assign(self, depth: int) -> list[str]:
        writable = [v for v in self.vars if v.writable]
        if not writable:
            return self.let(depth)
        var = self.dice.choice(writable)
        operator = self.dice.choice(["=", "??=", "||=", "&&="])
        return [f"{var.name} {operator} {self.call(var.kind)};"]

    def logic(self, _: int) -> list[str]:
        maybe = self.var("maybe") or "null"
        forms = [
            f"{self.pure('bool')} && {self.any_call()};",
            f"out.push({maybe} ?? {self.call('maybe')} ?? {self.call('str')});",
            f"out.push({self.pure('bool')} || {self.call('stat')}.exists || {self.call('num')});",
            f"out.push({self.call('maybe')}?.deep?.n);",
            f"out.push(({maybe} as any)?.[{self.call('str')}]);",
            f"out.push({self.pure('bool')} ? {self.any_call()} : {self.pure('num')});",
            f"out.push(({self.any_call()}, {self.any_call()}));",
            f"if (({self.call('num')}) > 1 && {self.call('stat')}.exists) out.push('both');",
        ]
        return [self.dice.choice(forms)]

    def unawaited(self, _: int) -> list[str]:
        if self.promises and self.chance(50):
            return [f"out.push(await {self.dice.choice(self.promises).name});"]
        kind = self.dice.choice(["num", "str", "stat", "maybe"])
        if self.chance(25):
            return [f"{self.promise(kind)};"]
        name = self.fresh("p")
        self.promises.append(Var(name, kind))
        return [f"const {name} = {self.promise(kind)};"]

    def timer(self, _: int) -> list[str]:
        wait = f"new Promise((done) => setTimeout(done, {self.dice.randint(1, 60)}, 'late'))"
        forms = [
            f"await {wait};",
            f"out.push(await Promise.race([{wait}, {self.promise('num')}]));",
            (
                f"const t{self.counter} = setTimeout(() => out.push('never'), 5); "
                f"clearTimeout(t{self.counter});"
            ),
            f"setTimeout(() => out.push('tick'), {self.dice.randint(1, 30)});",
        ]
        self.counter += 1
        return [self.dice.choice(forms)]

    def noise(self, _: int) -> list[str]:
        return [
            "{ " + self.dice.choice(NOISE[2:]) + " }" if self.chance(50) else NOISE[0],
            NOISE[1],
        ]

    def jump(self, _: int) -> list[str]:
        condition = self.pure("bool")
        if self.labels and self.chance(40):
            word = self.dice.choice(["break", "continue"])
            return [f"if ({condition}) {word} {self.dice.choice(self.labels)};"]
        if self.in_loop and self.chance(60):
            return [f"if ({condition}) {self.dice.choice(['break', 'continue'])};"]
        condition = f"{condition} && {self.pure('num')} > {self.dice.randint(1, 4)}"
        if self.chance(50):
            return [f"if ({condition}) return {{ early: {self.any_call()}, out }};"]
        return [f"if ({condition}) throw new RangeError({self.pure('str')});"]

    def chain(self, _: int) -> list[str]:
        return [
            self.dice.choice(
                [
                    f"out.push(await {self.promise('page')}.then(({{ rows }}) => rows.length));",
                    f"out.push(await {self.promise('num')}.then((n) => mcp.fs.list({{ n }})));",
                    f"out.push(await {self.promise('res')}.then((r) => r.status, (e) => e.data));",
                    f"await {self.promise('str')}.finally(() => {{ out.push('end'); }});",
                    f"await mcp.api.broken({{}}).catch(async (e) => out.push({self.call('num')}));",
                ]
            )
        ]

    def values(self, _: int) -> list[str]:
        """Tools and servers that are passed around before they are called."""
        name, one, two = self.fresh("f"), self.callee("fs.read"), self.callee("fs.stat")
        given = self.arguments()
        return self.dice.choice(
            [
                [f"const {name} = {self.pure('bool')} ? {one} : {two};", f"await {name}({given});"],
                [
                    f"const {name} = {{ go: {one}, deep: [{two}] }};",
                    f"out.push(await {name}.go({given}), await {name}.deep[0]({given}));",
                ],
                [
                    f"const {name} = {one}.bind(null, {given or '{}'});",
                    f"out.push(await {name}());",
                ],
                [
                    f"let {name} = {one};",
                    f"out.push(await {name}({given}));",
                    f"{name} = {two};",
                    f"out.push(await {name}({given}));",
                ],
                [f"const {name} = (s) => s.fs;", f"out.push(await {name}(mcp).list({given}));"],
                [f"const {name} = 'fs';", f"out.push(await mcp[{name}].list({given}));"],
                [f"for (const {name} of [{one}, {two}]) out.push(await {name}({given}));"],
            ]
        )

    def parallel(self, _: int) -> list[str]:
        name, method = self.fresh(), self.dice.choice(["all", "all", "allSettled", "race", "any"])
        guard = ".catch((e) => [e.name])" if self.chance(60) or method == "any" else ""
        if self.chance(45):
            return self.mapped(name, method, guard)
        kinds = [self.dice.choice(KINDS) for _ in range(self.dice.randint(1, 4))]
        parts = [self.promise(kind) for kind in kinds]
        if self.chance(20):
            parts.append(self.pure("num"))
        if self.chance(20):
            parts.append(
                f"(async () => {{ const x = {self.any_call()}; return {self.any_call()}; }})()"
            )
        lines = [f"const {name} = await Promise.{method}([", *[f"  {part}," for part in parts]]
        return [*lines, f"]){guard};", f"out.push({name});"]

    def mapped(self, name: str, method: str, guard: str) -> list[str]:
        items = self.dice.choice(["args.items", self.pure("strs"), f"[...{self.pure('strs')}]"])
        self.vars.append(Var("item", "str"))
        body = self.dice.choice(
            [
                f"async (item: string) => {self.any_call()}",
                f"(item) => {self.promise_in_sync('str')}",
                (
                    f"async (item) => {{ const one = {self.any_call()}; "
                    f"return [item, one, {self.any_call()}]; }}"
                ),
                self.callee("fs.read"),
            ]
        )
        self.vars.pop()
        return [
            f"const {name} = await Promise.{method}({items}.map({body})){guard};",
            f"out.push({name});",
        ]

    def callback(self, _: int) -> list[str]:
        strs = self.pure("strs")
        return [
            self.dice.choice(
                [
                    f"out.push({strs}.filter((s) => s.length > 1).map((s, i) => s + i));",
                    (
                        f"out.push(await {strs}.reduce(async (before, item) => "
                        f"(await before) + {self.call('num')}, Promise.resolve(0)));"
                    ),
                    f"{strs}.forEach((item) => {{ {self.promise_in_sync('str')}; }});",
                    f"{strs}.forEach(async (item) => {{ out.push({self.any_call()}); }});",
                    f"out.push({strs}.some((s) => s === 'x') && {self.any_call()});",
                    (
                        f"out.push((await Promise.all(Array.from({{ length: 2 }}, async (_, i) => "
                        f"{self.any_call()}))).length);"
                    ),
                    f"out.push(Object.fromEntries({strs}.map((s) => [s, s.length])));",
                ]
            )
        ]
