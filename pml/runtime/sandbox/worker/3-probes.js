// Probes: what the spliced code calls.

const openSwitches = { __proto__: null };
const asked = { __proto__: null };
const skipped = { __proto__: null };

/** What `...` makes no argument of, whatever the program did to arrays. */
const nothing = freeze({
  __proto__: null,
  [symbolIterator]: () => ({ __proto__: null, next: () => ({ __proto__: null, done: true }) }),
});

const skip = (site) => {
  if (site !== undefined) skipped[site] = true;
};

/** What one place tells of itself before it falls silent but for outcomes that are new there. */
const TOLD_PER_SITE = 1000;
const timesTold = { __proto__: null };
const outcomesTold = { __proto__: null };

/** Loops decide and arrive a million times; neither log nor memory shall hold all of that. */
function isWorthTelling(site, outcome) {
  const key = site + SITE_MARK + outcome;
  const isNew = outcomesTold[key] === undefined;
  if (!isNew && timesTold[site] >= TOLD_PER_SITE) return false;
  outcomesTold[key] = true;
  timesTold[site] = (timesTold[site] ?? 0) + 1;
  return true;
}

function decided(site, outcome) {
  if (!isWorthTelling(site, outcome)) return;
  record('{"type":"decide","site":' + stringify(site) + ',"outcome":' + stringify(outcome) + "}");
}

/** `lifted` is the text of one JSON object: values in place of literals, by parameter. */
const makeProbes = (lifted, values = parse(lifted)) =>
  freeze({
    __proto__: null,
    decide(site, value) {
      decided(site, value ? "true" : "false");
      return value;
    },
    /** `next` is the probe after it in an optional chain, which is skipped with it. */
    present(site, value, next) {
      const absent = value === null || value === undefined;
      if (skipped[site]) skipped[site] = false;
      else decided(site, absent ? "false" : "true");
      if (absent) skip(next);
      return value;
    },
    second: (_first, value) => value,
    /** A member is about to be read: then `went` or `enter` follows at once, else `passed`. */
    ask(site, value) {
      asked[site] = true;
      return value;
    },
    went(site, outcome) {
      asked[site] = false;
      decided(site, outcome);
    },
    enter(site) {
      asked[site] = false;
      decided(site, "true");
      return nothing;
    },
    passed(site, value, outcome, next) {
      if (!asked[site]) return value;
      asked[site] = false;
      decided(site, outcome);
      skip(next);
      return value;
    },
    choose(site, value) {
      openSwitches[site] = true;
      return value;
    },
    /** Of a switch only the first label counts: later ones are fallen through to. */
    took(site, outcome) {
      if (outcome !== "ok" && outcome !== "catch") {
        if (!openSwitches[site]) return;
        openSwitches[site] = false;
      }
      decided(site, outcome);
    },
    reach(site, value) {
      if (isWorthTelling(site, "")) record('{"type":"reach","site":' + stringify(site) + "}");
      return value;
    },
    /** A lifted literal: like the literal, an array or object is a new one each time. */
    arg(name, value) {
      if (!hasOwn(values, name)) return value;
      return typeof values[name] === "object" ? parse(lifted)[name] : values[name];
    },
    at(site, value) {
      const tool = typeof value === "function" ? mapGet(toolsOf, value) : undefined;
      return tool === undefined ? value : makeTool(tool.server, tool.tool, site);
    },
    /** What may be a server, or `mcp`: then its tools are called at the site. */
    owner: (site, object) => (object === mcp ? makeRoot(site) : atServer(site, object)),
    atMember(site, object, key) {
      const value = object[key];
      if (typeof value !== "function") return value;
      const tool = mapGet(toolsOf, value);
      if (tool !== undefined) return makeTool(tool.server, tool.tool, site);
      return (...rest) => apply(value, object, rest);
    },
  });
