"""Tools and servers by every name: aliases, brackets, constants, values that decide."""

# ruff: noqa: E501  # statements, a row each

from tests.oracle.values import Values


class Naming(Values):
    """Writes calls whose tool is named in a roundabout way."""

    def named(self, _: int) -> list[str]:
        n = self.fresh("a")
        self.sync, outer = True, self.sync
        given = self.arguments() or "{}"
        self.sync = outer
        flag = self.pure("bool")
        send = "out.push(await "
        return self.dice.choice(
            [
                [f"const {n} = mcp, {n}f = {n}.fs, {n}r = {n}f.read;", f"{send}{n}r({given}));"],
                [
                    f"const {{ fs: {{ read: {n}, ['stat']: {n}s }} }} = mcp;",
                    f"{send}{n}({given}), await {n}s({given}));",
                ],
                [f"const {n} = 'fs', {n}t = 'read';", f"{send}mcp[{n}][{n}t]({given}));"],
                [f"{send}mcp['my server']['x.y']({given}), await mcp.fs['read-file']({given}));"],
                [
                    f"const {{ 'my server': {n}, fs: {{ 'read-file': {n}f }} }} = mcp;",
                    f"{send}{n}['x.y']({given}), await {n}f({given}));",
                ],
                [f"for (const {n} of ['read', 'stat']) {send}mcp.fs[{n}]({given}));"],
                [f"const {n} = {flag} ? 'read' : 'list';", f"{send}mcp.fs[{n}]({given}));"],
                [f"{send}mcp[{flag} ? 'fs' : 'kv'].get?.({given}));"],
                [f"{send}mcp['f' + 's'][`${{'re'}}ad`]({given}));"],
                [
                    f"const {n} = {{ S: 'fs', T: 'read' }} as const;",
                    f"{send}mcp[{n}.S][{n}.T]({given}));",
                ],
                [f"enum {n}E {{ S = 'fs', T = 'stat' }}", f"{send}mcp[{n}E.S][{n}E.T]({given}));"],
                [f"const {{ fs: {n}, ...{n}o }} = mcp;", f"{send}{n}.read({given}));"],
                [f"const {n} = {flag} ? mcp.fs : mcp.kv;", f"{send}{n}.get?.({given}));"],
                [f"const {n} = {flag} ? mcp.fs : null;", f"{send}{n}?.read({given}));"],
                [f"let {n}: any; if ({flag}) {n} = mcp.fs;", f"{send}{n}?.stat?.({given}));"],
                [f"let {n}: any = mcp.fs; {n} = {n}.read;", f"{send}{n}({given}));"],
                [f"let {n} = mcp.fs.read; {n} = mcp.fs.stat;", f"{send}{n}({given}));"],
                [
                    f"const {n} = [mcp.fs.read, mcp.fs.stat];",
                    f"{send}{n}[1]({given}), await {n}.at(0)!({given}));",
                ],
                [
                    f"const {n}: any = {{ r: mcp.fs.read, s: {{ t: mcp.fs.stat }} }};",
                    f"{send}{n}.r({given}), await {n}.s['t']({given}));",
                ],
                [
                    f"const {n} = new Map<string, any>([['r', mcp.fs.read]]);",
                    f"{send}{n}.get('r')({given}));",
                ],
                [
                    f"{send}mcp.fs.read.call(null, {given}), await mcp.fs.stat.apply(mcp, [{given}]));"
                ],
                [f"{send}Reflect.apply(mcp.fs.read, null, [{given}]));"],
                [f"{send}(0, mcp.fs.read)({given}));"],
                [
                    f"const {n} = (f = mcp.fs.read) => f({given});",
                    f"{send}{n}(), await {n}(mcp.fs.stat));",
                ],
                [f"const {n} = async (m: any) => m.fs.read({given});", f"{send}{n}(mcp));"],
                [f"const {n} = async (s: any) => s.read({given});", f"{send}{n}(mcp.fs));"],
                [
                    f"const {n} = async ({{ fs, kv: k }}) => [await fs.read({given}), await k.get({given})];",
                    f"{send}{n}(mcp));",
                ],
                [f"const {n} = (s) => mcp[s];", f"{send}{n}('fs').read({given}));"],
                [
                    f"const {n} = async (s: string, t: string) => mcp[s][t]({given});",
                    f"{send}{n}('fs', 'read'), await {n}('kv', 'get'));",
                ],
                [
                    f"class {n}C {{ f = mcp.fs; static r = mcp.fs.read; go() {{ return this.f.stat({given}); }} }}",
                    f"{send}new {n}C().go(), await {n}C.r({given}));",
                ],
                [
                    f"const {n} = {{ mcp, fs: mcp.fs }};",
                    f"{send}{n}.mcp.fs.read({given}), await {n}.fs.stat({given}));",
                ],
                [
                    f"const {n}: any = {{}}; {n}.s = mcp.fs; {n}['t'] = mcp.kv.get;",
                    f"{send}{n}.s.read({given}), await {n}.t({given}));",
                ],
                [
                    f"const [{n}, {n}2 = mcp.fs.stat] = [mcp.fs.read];",
                    f"{send}{n}({given}), await {n}2({given}));",
                ],
                [
                    f"const {n} = {{ fs: {{ read: async (x: any) => ['own', x] }} }};",
                    f"{send}{n}.fs.read({given}), await mcp.fs.read({given}));",
                ],
                [
                    "{ const mcp2 = { ...{ a: 1 } }; out.push(mcp2); }",
                    f"{send}mcp.fs.stat({given}));",
                ],
                [f"const {n} = mcp.fs?.read ?? mcp.fs.stat;", f"{send}{n}({given}));"],
                [f"const {n} = ({flag} && mcp.fs.read) || mcp.fs.stat;", f"{send}{n}({given}));"],
                [f"const {n} = () => mcp.fs.read;", f"{send}{n}()({given}));"],
                [f"const {n} = async () => mcp.fs;", f"{send}(await {n}()).read({given}));"],
                [
                    f"const {n} = await mcp.fs, {n}q = await (mcp.fs.read);",
                    f"{send}{n}.stat({given}), await {n}q({given}));",
                ],
                [
                    "out.push(typeof mcp.fs, typeof mcp.fs.read, 'fs' in ({ fs: 1 }));",
                    f"{send}mcp.kv.get({given}));",
                ],
                [
                    f"const {n} = Object.keys({{ read: 1, stat: 2 }});",
                    f"for (const t of {n}) {send}mcp.fs[t]({given}));",
                ],
                [
                    f"{send}capabilities.clean({given}), await mcp.capabilities['sum-up']({given}));",
                ],
                [
                    f"const {{ clean: {n}, 'sum-up': {n}s }} = capabilities;",
                    f"{send}{n}({given}), await {n}s?.({given}));",
                ],
                [
                    f"const {n} = async (mcp: any) => mcp.fs.read({given});",
                    f"{send}{n}({{ fs: {{ read: async (x) => ['own', x] }} }}), await mcp.fs.stat({given}));",
                ],
                [
                    f"{{ const read = (x) => ['own', x]; out.push(read({given})); }}",
                    f"const {{ read: {n} }} = mcp.fs; {send}{n}({given}));",
                ],
            ]
        )
