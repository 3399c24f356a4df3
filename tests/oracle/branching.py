"""Branches, jumps and loops in all their nestings."""

# ruff: noqa: E501  # statements, a row each

from tests.oracle.classes import Classes


class Branching(Classes):
    """Writes what decides where control goes."""

    def ternaries(self, _: int) -> list[str]:
        a, b, c = (self.any_call() for _ in range(3))
        p, q = self.pure("bool"), self.pure("bool")
        return self.dice.choice(
            [
                [f"out.push({p} ? {a} : {q} ? {b} : {c});"],
                [f"out.push(({p} ? {q} : !{q}) ? {a} : {b});"],
                [f"{p} ? {a} : ({q} && {b});"],
                [f"out.push(({p} || {q}) && ({a} ?? {b}) || {c});"],
                [f"if ({p} ? {a} : {b}) out.push({c}); else if ({q} || {b}) {{ out.push(1); }}"],
            ]
        )

    def assignments(self, _: int) -> list[str]:
        name = self.fresh("o")
        a, b = self.any_call(), self.any_call()
        key = self.pure("str")
        operator = self.dice.choice(["??=", "||=", "&&="])
        return [
            f"const {name}: any = {{ x: {self.dice.choice(['null', '1', '0'])}, l: [0], d: {{}} }};",
            *self.dice.choice(
                [
                    [f"{name}.x {operator} {a};"],
                    [f"{name}['x'] {operator} {a}; {name}.d.e ??= {b};"],
                    [f"{name}.l[0] {operator} {a};"],
                    [f"{name}[{key}] {operator} {a}; {name}[{key}] {operator} {b};"],
                    [
                        f"let {name}v = {name}.x; out.push({name}v {operator} {a}); out.push({name}v)"
                    ],
                    [f"out.push(({name}.x {operator} {a}) ?? ({name}.y ??= {b}));"],
                ]
            ),
            f"out.push({name});",
        ]

    def chains(self, _: int) -> list[str]:
        name = self.fresh("c")
        empty = self.chance(50)
        value = (
            "null" if empty else "{ a: { go: async (...x) => ({ x, deep: { n: 1 } }), nil: null } }"
        )
        a, b = self.any_call(), self.any_call()
        return [
            f"const {name}: any = {value};",
            self.dice.choice(
                [
                    f"out.push(await {name}?.a.go({a}));",
                    f"out.push(await {name}?.a?.go?.({a}, {b}));",
                    f"out.push(await {name}?.a.nil?.({a}), {name}?.a?.none?.({b}));",
                    f"out.push({name}?.[{a}]?.[{b}]);",
                    f"out.push((await {name}?.a?.go({a}))?.deep?.n);",
                    f"out.push(await {name}?.a.go?.().then((r) => r.x.length));",
                    f"out.push({name}?.a.nil?.x.y[{a}].z({b}));",
                    f"out.push(delete {name}?.a?.[{self.pure('str')}], await {name}?.['a'].go!({a}));",
                    f"{name}?.a\n  ?.go?.({a})\n  ?.then?.((r) => out.push(r));",
                    f"out.push((await ({name}?.a)?.go?.({a})) ?? {b});",
                    f"out.push(await {name}?.a.go?.(...[{a}], {b}));",
                ]
            ),
        ]

    def finals(self, depth: int) -> list[str]:
        """``finally`` against return, break, continue and throw."""
        name = self.fresh("fin")
        a, b, c = (self.any_call() for _ in range(3))
        flag = self.pure("bool")
        block = self.block(depth)
        return self.dice.choice(
            [
                [
                    f"const {name} = async () => {{",
                    f"  try {{ if ({flag}) return {a}; await mcp.api.broken({{}}); }}",
                    f"  catch (e) {{ return [{b}, e.code]; }}",
                    f"  finally {{ out.push({c}); }}",
                    "  return 'end';",
                    "};",
                    f"out.push(await {name}());",
                ],
                [
                    f"const {name} = async () => {{",
                    f"  try {{ return {a}; }} finally {{ if ({flag}) return {b}; }}",
                    "};",
                    f"out.push(await {name}());",
                ],
                [
                    f"{name}: for (const i of [1, 2, 3]) {{",
                    f"  try {{ if (i === 2) continue {name}; out.push({a}); if ({flag}) break; }}",
                    f"  finally {{ out.push({b}); }}",
                    f"  out.push({c});",
                    "}",
                ],
                [
                    "try {",
                    f"  try {{ {a}; throw new Error('in'); }} finally {{ out.push({b}); }}",
                    f"}} catch ({{ message }}) {{ out.push([message, {c}]); }}",
                ],
                [
                    "try {",
                    f"  try {{ {a}; JSON.parse('{{'); {b}; }}",
                    f"  catch (e) {{ if ({flag}) throw e; out.push({c}); }}",
                    "} catch { out.push('outer'); }",
                ],
                [
                    f"for (let i = 0; i < 2; i++) {{ try {{ out.push({a}); continue; }}",
                    f"  catch {{ break; }} finally {{ if (i > 0 && {flag}) break; }} }}",
                ],
                ["try {", *block, "} catch (e) { out.push(e.name); }"],
                [f"try {{ null.x; {a}; }} catch {{ {b}; }}"],
                [
                    f"try {{ await mcp.fs.read({{ big: 1n }}); {a}; }} catch (e) {{ out.push([e.name, {b}]); }}"
                ],
                [
                    f"try {{ await mcp.fs.read(null!.x, {a}); }} catch (e) {{ out.push([e.name, {b}]); }}"
                ],
                [
                    f"try {{ {a}; throw {{ code: 1 }}; }} catch ({{ code = {b} }}: any) {{ out.push(code, {c}); }}"
                ],
                [f"try {{ if ({flag}) throw 'text'; {a}; }} catch (e) {{ out.push(e); }} {b};"],
                [f"if ({flag} && args.n > 5) throw {{ code: {a} }};", f"{b};"],
                [f"try {{ {a}; [].reduce(null); }} catch (e) {{ out.push([e.name, {b}]); }}"],
            ]
        )

    def loops(self, depth: int) -> list[str]:
        i = self.fresh("k")
        a, b, c = (self.any_call() for _ in range(3))
        flag = self.pure("bool")
        block = self.loop_body(depth)
        return self.dice.choice(
            [
                [f"let {i} = 0; while ({i} < 2) {{ {i}++; if ({flag}) continue; out.push({a}); }}"],
                [f"let {i} = 0; do {{ {i}++; if ({flag}) continue; {a}; }} while ({i} < 2);"],
                [f"let {i} = 0; do {a}; while ({i}++ < 1 && {b});"],
                [f"let {i} = 0; for (;;) {{ if (++{i} > 2) break; {a}; if ({flag}) break; }}"],
                [f"let {i} = 0; while (true) {{ if (++{i} > 2) break;", *block, "}"],
                [f"for (let {i} = 0, n = {a}; {i} < 2 && {b} !== 'no'; {i}++) out.push(n, {i});"],
                [f"for (let {i} = 0; {i} < 2; {i} += 1, {a}) {{ if ({flag}) continue; {b}; }}"],
                [f"for (const {{ length: {i} }} of args.items) out.push([{i}, {a}]);"],
                [f"for (const [{i}, v = {a}] of [[1, 2], [3]]) out.push({i}, v, {b});"],
                [f"for (const {i} of {self.pure('strs')}) {{", *block, "}"],
                [f"for (const {i} of {self.call('strs')}) for (const j of [1, 2]) {a};"],
                [
                    f"{i}: for (const x of [0, 1, 2]) {{ for (const y of [0, 1]) {{",
                    f"  if (y > x) continue {i}; if ({flag} && x === 2) break {i}; out.push({a}); }} {b}; }}",
                ],
                [f"{i}: {{ {a}; if ({flag}) break {i}; {b}; }}", f"{c};"],
                [f"{i}: if ({flag}) {{ {a}; if (args.n > 1) break {i}; {b}; }} else {c};"],
            ]
        )

    def loop_body(self, depth: int) -> list[str]:
        outer, self.in_loop = self.in_loop, True
        body = self.block(depth)
        self.in_loop = outer
        return body

    def switches(self, depth: int) -> list[str]:
        a, b, c = (self.any_call() for _ in range(3))
        subject = self.dice.choice(
            [self.call("num"), self.pure("num"), f"({self.call('res')}).status", "true"]
        )
        first = self.dice.choice(["0", "1", "'open'", f"({a}) === 1", "args.n"])
        loop, self.in_loop = self.in_loop, False
        block = self.block(depth)
        self.in_loop = loop
        return self.dice.choice(
            [
                [
                    f"switch ({subject}) {{ case {first}: out.push({b}); case 1: out.push({c}); break; default: {a}; }}"
                ],
                [
                    f"switch ({subject}) {{ default: out.push({a}); case {first}: out.push({b}); break; case 2: {c}; }}"
                ],
                [
                    f"switch ({subject}) {{ case {first}: case 2: {{",
                    *block,
                    f"}} break; case 3: {c}\n}}",
                ],
                [f"switch ({subject}) {{ case {first}: let x = {a}; out.push(x); }}"],
                [
                    f"for (const s of [0, 1, 2]) switch (s) {{ case {first}: continue; case 1: {b};",
                    f"  break; default: out.push({c}); }}",
                ],
                [f"switch ({subject}) {{}}", f"{a};"],
                [
                    f"switch ({subject}) {{ case {first}: if ({self.pure('bool')}) break; {b} }}",
                    f"{c};",
                ],
            ]
        )
