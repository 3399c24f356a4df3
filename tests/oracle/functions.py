"""Functions of every kind: helpers, closures, recursion, defaults, generators, methods."""

# ruff: noqa: E501  # statements, a row each

from abc import ABC, abstractmethod

from tests.oracle.statements import Statements


class Functions(Statements, ABC):
    """Writes functions and what calls them; a name is declared where it is used."""

    @abstractmethod
    def block(self, depth: int, size: int = 2) -> list[str]:
        """Some statements, indented; what they declare ends with them."""

    @abstractmethod
    def body(self, depth: int, kind: str, parameter: str) -> list[str]:
        """Statements of a function of one string, which returns a value of the kind."""

    def any_promise(self) -> str:
        """A call of any tool that is not awaited, and holds no ``await`` either."""
        return self.promise_in_sync(self.dice.choice(["str", "num", "stat", "page", "maybe"]))

    def plain_promise(self) -> str:
        """The same, and no helper's: those in default values are a known gap of control flow."""
        helpers, self.functions = self.functions, []
        made = self.any_promise()
        self.functions = helpers
        return made

    def show_await(self, expression: str) -> str:
        return f"out.push(await {expression});"

    def iife(self, depth: int) -> list[str]:
        body = self.body(depth, "stat", "x")
        given = self.pure("str")
        form = self.dice.choice(
            [
                ("out.push(await (async (x: string) => {", f"}})({given}));"),
                ("out.push(await (async function named(x) {", f"}})({given}));"),
                ("void (async (x) => {", f"}})({given});"),
                ("out.push(await (async (x) => {", f"}}).call(null, {given}));"),
                ("await async function (x) {", f"}}({given});"),
            ]
        )
        return [form[0], *body, form[1]]

    def recursion(self, _: int) -> list[str]:
        name, given = self.fresh("rec"), self.pure("str")
        self.vars += [self.new("n", "num"), self.new("given", "str")]
        one, two = self.any_call(), self.any_call()
        plain = self.any_promise()
        del self.vars[-2:]
        return self.dice.choice(
            [
                [
                    f"const {name} = async (n: number, given: string): Promise<any[]> =>",
                    f"  n <= 0 ? [{one}] : [{two}, ...(await {name}(n - 1, given))];",
                    self.show_await(f"{name}(2, {given})"),
                ],
                [
                    f"async function {name}(n, given) {{",
                    "  if (n < 1) return null;",
                    f"  const before = await {name}(n - 1, given);",
                    f"  return {{ before, own: {one} }};",
                    "}",
                    self.show_await(f"{name}(args.n % 3, {given})"),
                ],
                [
                    f"const {name}a = async (n, given) => n > 0 ? [{one}, await {name}b(n - 1, given)] : 0;",
                    f"async function {name}b(n, given) {{ if (n > 0) return await {name}a(n - 1, given);",
                    f"  return {two}; }}",
                    self.show_await(f"{name}a(3, {given})"),
                ],
                [
                    f"const {name} = (n, given) => n ? Promise.all([{plain}, {name}(n - 1, given)]) : given;",
                    self.show_await(f"{name}(2, {given})"),
                ],
            ]
        )

    def handed_on(self, depth: int) -> list[str]:
        """Functions as values: in objects, arrays, maps, as arguments and results."""
        name, other = self.fresh("h"), self.fresh("use")
        body = self.body(depth, "str", "x")
        given = self.pure("str")
        tool = self.callee("fs.read")
        lines = [f"const {name} = async (x: string) => {{", *body, "};"]
        return lines + self.dice.choice(
            [
                [self.show_await(f"Promise.all(args.items.map({name}))")],
                [
                    f"const {other} = async (f: any, x) => [await f(x), await f(x)];",
                    self.show_await(f"{other}({name}, {given})"),
                    self.show_await(f"{other}({tool}, {{ path: {given} }})"),
                ],
                [
                    f"const {other} = {{ one: {name}, two: async (x) => {name}(x), deep: [{name}] }};",
                    f"for (const k of ['one', 'two']) out.push(await {other}[k]({given}));",
                    self.show_await(f"{other}.deep[0]({given})"),
                ],
                [
                    f"const {other} = new Map([['go', {name}]]);",
                    self.show_await(f"{other}.get('go')!({given})"),
                ],
                [
                    f"const {other} = (f) => (x) => f(x + '!');",
                    self.show_await(f"{other}({name})({given})"),
                ],
                [
                    f"let {other}: any = null;",
                    f"if ({self.pure('bool')}) {other} = {name};",
                    f"out.push(await {other}?.({given}), typeof {other});",
                ],
                [self.show_await(f"{name}.call(null, {given})")],
                [self.show_await(f"{name}.apply(null, [{given}])")],
                [f"for (const f of [{name}, {name}]) await f({given});"],
                [self.show_await(f"[{name}].at(-1)!({given})")],
            ]
        )

    def defaults(self, _: int) -> list[str]:
        name = self.fresh("f")
        one, two = self.plain_promise(), self.plain_promise()
        given = self.pure("str")
        return self.dice.choice(
            [
                [
                    f"const {name} = async (x = {one}, {{ y = {two} }}: any = {{}}) => [await x, await y];",
                    f"out.push(await {name}(), await {name}({given}, {{ y: 1 }}));",
                ],
                [
                    f"async function {name}(a, b = {one}, ...rest) {{ return [a, await b, rest]; }}",
                    f"out.push(await {name}({given}), await {name}(1, 2, {given}));",
                ],
                [
                    f"const {name} = async ([a = {one}, ...b] = []) => ({{ a: await a, b }});",
                    f"out.push(await {name}(), await {name}([{given}, 2]));",
                ],
                [
                    f"const {name} = async (x, y = x + {given}) => mcp.fs.read({{ path: y }});",
                    self.show_await(f"{name}({given})"),
                ],
            ]
        )

    def closure_state(self, _: int) -> list[str]:
        name = self.fresh("mk")
        self.vars.append(self.new("x", "str"))
        one, two = self.any_call(), self.any_call()
        self.vars.pop()
        given = self.pure("str")
        return self.dice.choice(
            [
                [
                    f"const {name} = (k: number) => {{ let seen = k; return async (x) => {{ seen++;",
                    f"  return [seen, {one}]; }}; }};",
                    f"const {name}1 = {name}(1); out.push(await {name}1({given}), await {name}1('b'));",
                ],
                [
                    f"const {name} = new Map<string, any>();",
                    f"const {name}g = async (x) => {{ if (!{name}.has(x)) {name}.set(x, {one});",
                    f"  return {name}.get(x); }};",
                    f"out.push(await {name}g({given}), await {name}g({given}));",
                ],
                [
                    f"const {name} = {{ x: {given}, async go() {{ const x = this.x; return {one}; }},",
                    f"  get late() {{ return {self.any_promise()}; }},",
                    f"  async ['two']() {{ const {{ x }} = this; return [await this.go(), {two}]; }} }};",
                    f"out.push(await {name}.two(), await {name}.late);",
                ],
                [
                    f"const {name}: any[] = [];",
                    f"for (let i = 0; i < 2; i++) {name}.push(async () => {{ const x = 'i' + i; return {one}; }});",
                    f"for (const f of {name}) out.push(await f());",
                ],
                [
                    f"out.push(await {name}({given}));",
                    f"async function {name}(x) {{ return {one}; }}",
                ],
            ]
        )

    def generator(self, depth: int) -> list[str]:
        name = self.fresh("g")
        one, two, three = self.any_promise(), self.any_promise(), self.any_promise()
        flag = self.pure("bool")
        use = self.dice.choice(
            [
                [f"for (const p of {name}()) out.push(await p);"],
                [f"out.push(await Promise.all([...{name}()]));"],
                [f"for (const p of {name}()) {{ out.push(await p); if ({flag}) break; }}"],
                [
                    f"const {name}i = {name}(); out.push(await {name}i.next().value);",
                    f"out.push({name}i.return(1).done);",
                ],
                [f"const [{name}a, {name}b] = {name}(); out.push(await {name}b, await {name}a);"],
            ]
        )
        body = self.dice.choice(
            [
                [f"yield {one};", f"if ({flag}) yield {two};", f"return {three};"],
                [f"for (const x of args.items) yield {one};", f"yield* [{two}];"],
                [
                    f"try {{ yield {one}; yield {two}; }}",
                    f"finally {{ {three}.then((x) => out.push(x), () => 0); }}",
                ],
            ]
        )
        del depth
        return [f"function* {name}() {{", *["  " + line for line in body], "}", *use]

    def async_generator(self, depth: int) -> list[str]:
        name = self.fresh("ag")
        body = self.block(depth)
        call = self.any_call()
        flag = self.pure("bool")
        use = self.dice.choice(
            [
                [f"for await (const x of {name}(1)) out.push(x);"],
                [f"for await (const x of {name}(2)) {{ if ({flag}) break; out.push(x); }}"],
                [f"const {name}i = {name}(1); out.push((await {name}i.next()).value);"],
                [f"const {name}i = {name}(0); await {name}i.next(); await {name}i.return(1);"],
            ]
        )
        inner = ["  for (let k = 0; k <= n; k++) {", f"    yield {call};", "  }"]
        outer_loop, self.in_loop = self.in_loop, False
        self.in_loop = outer_loop
        kept = (
            body if not any("break" in b or "continue" in b or "early:" in b for b in body) else []
        )
        return [f"async function* {name}(n: number) {{", *kept, *inner, "}", *use]
