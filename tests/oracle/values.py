"""Where values come from and go to: patterns, spread, objects that are built, pure code."""

# ruff: noqa: E501  # statements, a row each

from tests.oracle.parallels import Parallels


class Values(Parallels):
    """Writes data flow between calls."""

    def patterns(self, _: int) -> list[str]:
        a, b = self.fresh(), self.fresh()
        one, two = self.any_call(), self.any_call()
        page, stat, strs = self.call("page"), self.call("stat"), self.call("strs")
        send = f"await mcp.kv.set({{ a: {a}, b: {b} }});"
        return [
            *self.dice.choice(
                [
                    [f"const {{ rows: [{{ name: {a} = {one}, ...{b} }} = {{}}] }} = {page};"],
                    [f"const [{a} = {one}, , {b} = {two}] = {strs};"],
                    [f"let {a}: any, {b}: any; ({{ size: {a}, missing: {b} = {one} }} = {stat});"],
                    [
                        f"let {a}: any, {b}: any; [{a}, {b} = {one}] = {strs}; [{a}, {b}] = [{b}, {a}];"
                    ],
                    [
                        f"const {b}: any = {{}}; let {a}; ({{ x: {b}.y, z: {a} = {two} }} = {{ x: {one} }} as any);"
                    ],
                    [f"const {{ [{self.pure('str', 0)}]: {a} = {one}, ...{b} }} = {stat} as any;"],
                    [f"const {{ a: {{ b: {a} }} = {{ b: {one} }}, c: {b} = {a} }} = {{}} as any;"],
                    [f"const [[{a}], {{ {b} = {one} }} = {{}}] = [{strs}] as any;"],
                    [f"const {a} = {one}; const {{ {a}: {b} }} = {{ {a} }};"]
                    if a.isascii()
                    else [f"const {a} = {one}, {b} = {a};"],
                    [f"let {a} = {one}; const {b} = {a}; {a} = {two};"],
                    [f"let {a} = {one}; if ({self.pure('bool')}) {a} = {two}; const {b} = [{a}];"],
                    [
                        f"let {a}: any = null; for (const x of [1, 2]) {{ {a} = {one}; }} const {b} = {a};"
                    ],
                    [f"const {a} = {one}; let {b}; {{ const {a} = 'inner'; {b} = {a}; }}"],
                    [f"var {a} = {one}; var {a} = {two}; const {b} = 0;"],
                ]
            ),
            send,
        ]

    def building(self, _: int) -> list[str]:
        name = self.fresh("b")
        one, two = self.any_call(), self.any_call()
        how = self.dice.choice(
            [
                [f"const {name}: any = {{}}; {name}.x = {one}; {name}['y'] = {two};"],
                [f"const {name} = [{one}]; {name}.push({two});"],
                [f"const {name} = [...(await mcp.fs.list({{}})), {one}].concat({two} as any);"],
                [f"const {name} = {{ ...({one} as any), k: {two} }};"],
                [f"const {name} = Object.assign({{}}, {{ x: {one} }}, {{ y: {two} }});"],
                [
                    f"const {name}m = new Map(); {name}m.set('k', {one}); const {name} = [...{name}m.values()];"
                ],
                [f"const {name} = [...new Set([{one}, {two}])];"],
                [f"const {name} = JSON.parse(JSON.stringify({{ x: {one} }}));"],
                [f"const {name}: any = []; for (const i of [0, 1]) {name}[i] = {one};"],
                [
                    f"const {name}: any = {{ list: [] }}; {name}.list.push({one}); {name}.list.unshift({two});"
                ],
                [
                    f"let {name}: any = ''; {name} += {one}; {name} = {name} + JSON.stringify({two});"
                ],
                [f"const {name} = {{ get x() {{ return this.y; }}, y: {one} }};"],
                [f"const {name} = structuredClone([{one}]);"],
                [
                    f"const {name} = [{one}, {two}].map((v) => ({{ v }})).filter((v) => v).slice(0, 1);"
                ],
                [f"const {name} = tag`x${{{one}}}y${{{two}}}`;"],
                [f"const {name} = ((v) => [v, v])({one});"],
                [f"const {name}f = async () => {two}; const {name} = [await {name}f(), {one}];"],
                [f"const {name} = Object.entries({{ a: {one} }}).flatMap(([k, v]) => [k, v]);"],
                [
                    f"const {name}w: any = {{ in: {{}} }}; const {name}i = {name}w.in; {name}i.z = {one}; const {name} = {name}w;"
                ],
                [
                    f"const {name}: any[] = []; const add = (v) => {{ {name}.push(v); }}; add({one});"
                ],
                [f"let {name}: any; const put = (v) => {{ {name} = v; }}; put({one});"],
                [f"const {name} = ({one}, {two});"],
                [f"const {name} = await Promise.resolve({one}).then((v) => ({{ v }}));"],
                [
                    f"let {name}: any; try {{ {name} = {one}; await mcp.api.flaky({{}}); }} catch {{ {name} ??= {two}; }}"
                ],
            ]
        )
        return ["{", *how, f"await mcp.fs.write({{ data: {name} }}); out.push({name}); }}"]

    def error_data(self, _: int) -> list[str]:
        return [
            f"try {{ {self.any_call()}; await mcp.api.broken({{ n: 1 }}); }}",
            "catch (e: any) { await mcp.kv.set({ why: e.message, data: e.data }); }",
        ]
