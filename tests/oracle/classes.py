"""Classes: constructors, fields, static blocks, accessors, private methods, inheritance."""

# ruff: noqa: E501  # statements, a row each

from tests.oracle.functions import Functions


class Classes(Functions):
    """Writes a class and uses it at once."""

    def klass(self, depth: int) -> list[str]:
        name = self.fresh("K")
        form = self.dice.choice(
            [
                self._fields,
                self._private,
                self._inherited,
                self._static,
                self._typed,
                self._iterable,
                self._long_method,
            ]
        )
        return form(name, depth)

    def _fields(self, name: str, _: int) -> list[str]:
        one, two, three = self.any_promise(), self.any_promise(), self.any_promise()
        return [
            f"class {name} {{",
            f"  x = {one}; static s = {two};",
            f"  y; constructor(k) {{ this.y = {three}; this.k = k; }}",
            "  async all() { return [await this.x, await this.y, this.k]; }",
            "}",
            f"out.push(await new {name}({self.pure('str')}).all(), await {name}.s);",
        ]

    def _private(self, name: str, _: int) -> list[str]:
        self.vars.append(self.new("x", "str"))
        one, two = self.any_call(), self.any_call()
        self.vars.pop()
        return [
            f"class {name} {{",
            f"  #p = {self.pure('str', 0)}; #memo: any = null; static #count = 0;",
            f"  async #hidden(x) {{ {name}.#count++; return {one}; }}",
            f"  async go() {{ const x = this.#p; this.#memo ??= {two}; return [await this.#hidden(x), this.#memo]; }}",
            f"  get size() {{ return {name}.#count; }} set size(v) {{ {name}.#count = v; }}",
            "}",
            f"const {name}o = new {name}(); out.push(await {name}o.go(), await {name}o?.go?.(), {name}o.size);",
        ]

    def _inherited(self, name: str, _: int) -> list[str]:
        self.vars.append(self.new("x", "str"))
        one, two = self.any_call(), self.any_call()
        self.vars.pop()
        return [
            f"class {name}A {{ constructor(public tag = 't') {{}}",
            f"  async go(x: string): Promise<any> {{ return {one}; }}",
            "  async both(x) { return [await this.go(x), this.tag]; } }",
            f"class {name}B extends {name}A {{ constructor() {{ super({self.pure('str')}); }}",
            f"  override async go(x) {{ return [await super.go(x), {two}]; }} }}",
            f"out.push(await new {name}B().both({self.pure('str')}));",
            f"out.push(await new {name}A('z').go({self.pure('str')}));",
        ]

    def _static(self, name: str, _: int) -> list[str]:
        one, two = self.plain_promise(), self.plain_promise()
        return [
            f"const {name} = class {{",
            f"  static p: any; static {{ this.p = {one}; }}",
            f"  static async go(y0 = {two}) {{ return [await this.p, await y0]; }}",
            "  static ['comp' + 'uted'] = 1;",
            "};",
            f"out.push(await {name}.go());",
        ]

    def _typed(self, name: str, _: int) -> list[str]:
        self.vars.append(self.new("x", "str"))
        one = self.any_call()
        self.vars.pop()
        return [
            f"abstract class {name}T<T extends object = {{}}> {{",
            "  constructor(protected readonly k: string, private n?: number) {}",
            "  abstract go(x: string): Promise<unknown>;",
            "  declare gone: T;",
            "}",
            f"interface {name}I {{ go(x: string): Promise<unknown> }}",
            f"class {name} extends {name}T<{{ a: 1 }}> implements {name}I {{",
            "  go(x: string): Promise<unknown>;",
            "  go(x: string, y?: number): Promise<unknown>;",
            f"  async go(x: any, y = 1) {{ return [this.k, y, {one}]; }}",
            "}",
            f"out.push(await new {name}('k').go({self.pure('str')}));",
        ]

    def _iterable(self, name: str, _: int) -> list[str]:
        one, two = self.any_call(), self.any_promise()
        return [
            f"class {name} {{",
            f"  async *[Symbol.asyncIterator]() {{ yield {one}; }}",
            f"  *[Symbol.iterator]() {{ yield {two}; }}",
            "}",
            f"for await (const x of new {name}()) out.push(x);",
            f"for (const x of new {name}()) out.push(await x);",
        ]

    def _long_method(self, name: str, depth: int) -> list[str]:
        body = self.body(depth, "str", "x")
        return [
            f"class {name} {{ async go(x: string) {{",
            *body,
            "} }",
            f"const {name}o = new {name}();",
            f"out.push(await {name}o.go({self.pure('str')}), await {name}o.go('again'));",
        ]
