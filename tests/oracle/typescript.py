"""What TypeScript adds to JavaScript, and text that only looks like code."""

# ruff: noqa: E501  # statements, a row each

from tests.oracle.naming import Naming


class TypeScript(Naming):
    """Writes types, and tricky lexical forms."""

    def typed(self, _: int) -> list[str]:
        n = self.fresh("T")
        a, b = self.any_call(), self.any_call()
        return self.dice.choice(
            [
                [
                    f"enum {n} {{ A, B = 'b' as any, C = 1 << 2, D = {n}.C | 1 }}",
                    f"out.push({n}.C, {n}[0], {a});",
                ],
                [
                    f"async function {n}<T extends object, U = keyof T>(x: T, _y?: U): Promise<T & {{ ok?: 1 }}> {{ {a}; return x; }}",
                    f"out.push(await {n}<{{ q: number }}>({{ q: 1 }}));",
                ],
                [f"const {n} = <T,>(x: T): T => x;", f"out.push({n}<any>({a}));"],
                [
                    f"function {n}(x: string): Promise<any>;",
                    f"function {n}(x: number): Promise<any>;",
                    f"async function {n}(x: any) {{ return [x, {a}]; }}",
                    f"out.push(await {n}('s'), await {n}(2));",
                ],
                [
                    f"const {n} = ({a}) satisfies unknown as any;",
                    f"out.push({n}!, {b} as unknown as string);",
                ],
                [
                    f"const {n} = {{ a: {a} }} as const satisfies Record<string, unknown>;",
                    f"out.push({n}.a!);",
                ],
                [
                    f"let {n}!: number; {n} = 1; let {n}u: `a${{string}}` | [x: number, ...rest: string[]] | undefined;",
                    f"out.push({n}, {n}u, {a});",
                ],
                [
                    f"const {n} = (x: unknown): x is string => typeof x === 'string';",
                    f"if ({n}({a})) out.push({b});",
                ],
                [
                    f"function {n}(this: void, x: unknown, ..._r: readonly any[]): asserts x {{ if (!x) throw new Error('no'); }}",
                    f"{n}(1); out.push({a});",
                ],
                [
                    f"type {n} = {{ [K in 'a' | 'b']?: K extends 'a' ? () => Promise<void> : never }};",
                    f"const {n}v: {n} = {{}}; out.push({n}v, {a});",
                ],
                [f"declare const {n}: {{ mcp: number }};", f"out.push({a});"],
                [f"out.push(<any>{a}, (<string>'x').length);"],
                [
                    f"abstract class {n} {{ static async go() {{ return {a}; }} abstract x(): void }}",
                    f"out.push(await {n}.go());",
                ],
                [
                    f"for (const {n} of ({self.pure('strs')}) as string[]) {{ out.push({n}!, {a}); }}"
                ],
                [
                    f"const {n}: (x: {{ mcp: {{ fs: {{ read(): void }} }} }}) => void = () => {{}};",
                    f"{n}(null as any); out.push({a});",
                ],
                [
                    f"const {n} = {{ async generic<T>(this: any, x: T) {{ return [x, {a}]; }} }};",
                    f"out.push(await {n}.generic<string>('g'));",
                ],
            ]
        )

    def lexical(self, _: int) -> list[str]:
        n = self.fresh("x")
        a, b = self.any_call(), self.any_call()
        return self.dice.choice(
            [
                [
                    f"let {n} = {a}",
                    f"const {n}o = [1]",
                    f";[{n}o].forEach((v) => out.push(v))",
                    f"out.push({n});",
                ],
                [f"let {n} = 1", f"++{n}", f"out.push({n})", f"{a}"],
                [
                    f"const {n} = 6",
                    f"const {n}d = {n} / 2 / (1 || /x/g.lastIndex)",
                    f"out.push({n}d, {a});",
                ],
                [
                    f"const {n} = /[/\\]}}\"'`]{{1,2}}(?<g>if|await mcp\\.fs\\.read\\()/u",
                    f"out.push({n}.source, {a});",
                ],
                [f"out.push('if (x) {{', \"else }}\", `for (;;) ${{{a}}} case`, 'switch', {b});"],
                [
                    f"const {n} = {{ if: 1, await: 2, 'class': 3, mcp: 4, async: 5, get: 6, static: 7 }};",
                    f"out.push({n}.if, {n}.await, {n}.mcp, {a});",
                ],
                [
                    f"const async{n} = 1, get{n} = 2, of{n} = 3; let of = [async{n}]; for (const x of of) out.push(x, {a});"
                ],
                [f"out.push(`a${{`b${{{a}}}${{`${{{b}}}`}}`}}c`);"],
                [
                    f"if ({self.pure('bool')}) /*else*/ out.push({a}) //else{{",
                    f"else out.push({b}) /*}}*/;",
                ],
                [
                    f"const {n} = async () => {a} /*after*/ ;",
                    f"out.push(await {n}(), (await {n}()) /*.*/ ?? 1);",
                ],
                [
                    f"var {n} = function () {{ return [typeof this, {n}2] }}, {n}2 = {a}",
                    f"out.push({n}());",
                ],
                [f"do {a}; while (0) out.push({b})"],
                [f"let {n} = 3; while ({n} --> 2) out.push({a})", f"{b}"],
                [f"const {n} = (await mcp.fs.list({{}})).length", f"out.push({n}", f"  , {a});"],
                [f"out.push(void {a}, typeof {b}, !{a}, -(({b}) as any), +'1');"],
                [f"out.push(({a}, {b}));", f"({a}) in {{}};"],
                [f"const \\u{{76}}{n} = {a}; out.push(v{n});"],
                [f"out.push('\\u2028\u2028\u2029', {a}); /*\u2028*/"],
                [f"label{n}: out.push({a});", ";;", "{}", f"{{ {b} }}"],
                ["new (class { constructor() { out.push('made'); } })", f"out.push({a});"],
                [
                    f"out.push(new Date(0).getTime(), {a}?.toString?.().length, 1..toFixed(1), .5, 0b11n > 2n);"
                ],
            ]
        )
