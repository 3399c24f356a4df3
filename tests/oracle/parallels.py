"""What runs side by side or later: callbacks, combinators, promise chains, ``new Promise``."""

# ruff: noqa: E501  # statements, a row each

from tests.oracle.branching import Branching


class Parallels(Branching):
    """Writes callbacks and promises."""

    def array_callbacks(self, depth: int) -> list[str]:
        xs = self.pure("strs")
        self.vars.append(self.new("s", "str"))
        a, b = self.any_call(), self.any_call()
        p = self.any_promise()
        flag = self.pure("bool")
        body = self.body(depth, "str", "s")
        self.vars.pop()
        return self.dice.choice(
            [
                [f"out.push(await Promise.all({xs}.map(async (s) => {a})));"],
                [f"out.push(await Promise.all({xs}.map(async (s, i) => {{", *body, "})));"],
                [f"out.push(await Promise.all({xs}.map(async (s) => {flag} ? {a} : {b})));"],
                [f"out.push({xs}.filter(async (s) => {a}).length);"],
                [
                    f"out.push((await Promise.all({xs}.filter((s) => {flag}).map((s) => {p}))).length);"
                ],
                [f"out.push(await Promise.all({xs}.flatMap((s) => [{p}, s])));"],
                [f"out.push({xs}.some((s) => {{ {p}; return s.length > 1; }}));"],
                [f"out.push({xs}.every(async (s) => {a}));"],
                [f"out.push(await ({xs}.find((s) => {p}) ?? 'none'));"],
                [f"out.push({xs}.findIndex((s) => (void {p}, s === 'y')));"],
                [f"out.push([...{xs}].sort((s, t) => {{ {p}; return s < t ? 1 : -1; }}));"],
                [
                    f"out.push(await {xs}.reduce(async (acc, s) => [...(await acc), {a}], Promise.resolve([] as any[])));"
                ],
                [f"await {xs}.reduceRight((acc, s) => acc.then(() => {p}), Promise.resolve());"],
                [
                    f"for (const s of await Promise.all({xs}.map((s) => {p}))) out.push(s, {b.replace('(s', '(s')});"
                ],
                [f"{xs}.forEach(async (s) => {{ const r = {a}; out.push([s, r]); }});"],
                [
                    f"const q{self.tick()}: any[] = []; {xs}.forEach((s) => q{self.counter}.push({p})); out.push(await Promise.all(q{self.counter}));"
                ],
                [
                    f"out.push(await Promise.all(Object.entries({{ a: 1, b: 2 }}).map(async ([s, n]) => [s, n, {a}])));"
                ],
                [f"out.push(await Promise.all(Array.from({{ length: 2 }}, (_, s) => {p})));"],
                [f"out.push(await Promise.all({xs}.map(mcp.fs.read)));"],
                [
                    f"out.push(await Promise.all({xs}.map((s) => ({{ path: s }})).map(mcp.fs.stat)));"
                ],
                [
                    f"out.push(await Promise.all({xs}.map(async (s) => await Promise.all(['1'].map(async (t) => {a})))));"
                ],
            ]
        )

    def tick(self) -> int:
        self.counter += 1
        return self.counter

    def combinators(self, _: int) -> list[str]:
        a, b, c = (self.any_promise() for _ in range(3))
        call = self.any_call()
        name = self.fresh("r")
        self.vars.append(self.new("x", "any"))
        on = self.any_call()
        self.vars.pop()
        return self.dice.choice(
            [
                [
                    f"const [{name}, {name}b] = await Promise.all([{a}, {b}]);",
                    f"await mcp.kv.set({{ {name}, v: {name}b }});",
                ],
                [
                    f"const {name} = await Promise.allSettled([{a}, {b}, mcp.api.broken({{}})]);",
                    f"out.push({name}.map((r: any) => r.value ?? r.reason.code));",
                ],
                [f"out.push(await Promise.race([{a}, {b}]));", f"out.push({call});"],
                [f"out.push(await Promise.any([mcp.api.broken({{}}), {a}]));"],
                [
                    f"const {name} = {a}, {name}b = {b};",
                    f"out.push(await Promise.all([{name}, {name}b, {c}]));",
                ],
                [
                    f"const {name} = [{a}];",
                    f"{name}.push({b});",
                    f"out.push(await Promise.all({name}));",
                ],
                [f"out.push(await Promise.all([{a}, Promise.all([{b}, {c}])]));"],
                [
                    f"out.push(await Promise.all([(async () => {{ const x = {call}; return {on}; }})(), {a}]));"
                ],
                [f"out.push(await Promise.all([{a}.then(async (x) => {on}), {b}]));"],
                [
                    f"const {{ {name}, {name}b }} = await Promise.all([{a}, {b}]).then(([{name}, {name}b]) => ({{ {name}, {name}b }}));",
                    f"out.push({name}, {name}b);",
                ],
                [
                    f"const {name} = Object.fromEntries(await Promise.all(['a', 'b'].map(async (x) => [x, {on}])));",
                    f"await mcp.kv.set({{ all: {name} }});",
                ],
                [f"out.push(await Promise.all([{a}, {b}].map((p) => p.catch((e) => e.code))));"],
                [f"const {name} = {a};", f"out.push({call});", f"out.push(await {name});"],
                [f"out.push(await Promise.all(new Set([{a}, {b}])));"],
                [f"out.push(await Promise.all([...[1, 2].map(async (x) => {on}), {c}]));"],
            ]
        )

    def promise_chains(self, _: int) -> list[str]:
        a, b, c = (self.any_promise() for _ in range(3))
        self.vars.append(self.new("x", "any"))
        on, on2, sync = self.any_call(), self.any_call(), self.any_promise()
        self.vars.pop()
        return [
            self.dice.choice(
                [
                    f"out.push(await {a}.then((x) => {sync}).then(async (x) => [x, {on}]));",
                    f"out.push(await {a}.then(async (x) => {on}).catch((x) => x.name).finally(() => out.push('f')));",
                    f"out.push(await mcp.api.broken({{}}).then((x) => {sync}).catch(async (x) => {on}));",
                    f"out.push(await mcp.api.flaky({{}}).then(async (x) => {on}, async (x) => {on2}));",
                    f"await {a}.finally(async () => {{ {on}; }});"
                    if "x" not in on
                    else f"await {a};",
                    f"{a}.then((x) => {sync}).then((x) => out.push(x), () => 0);",
                    f"out.push(await new Promise((done) => {a}.then(done, () => done('bad'))));",
                    f"out.push(await new Promise(async (done, bad) => {{ try {{ const x = await {a}; done({on}); }} catch (e) {{ bad(e); }} }}));",
                    f"out.push(await Promise.resolve({a}).then((x) => x));",
                    f"out.push(await Promise.resolve(1).then(() => {b}).then((x) => {sync}));",
                    f"const w{self.tick()} = {a}.then((x) => [x]); out.push({self.any_call()}, await w{self.counter});",
                    f"await new Promise<void>((done) => setTimeout(async () => {{ out.push({self.any_call()}); done(); }}, 5));",
                    f"queueMicrotask(async () => {{ out.push({self.any_call()}); }});",
                    f"out.push(await (async () => {c})().then((x) => ({{ x }})));",
                    f"out.push(await Promise.reject(new Error('no')).catch(async (x) => {on}));",
                    f"const {{ promise: w{self.tick()}, resolve: r{self.counter} }} = Promise.withResolvers(); {a}.then(r{self.counter}, r{self.counter}); out.push(await w{self.counter});",
                ]
            )
        ]
