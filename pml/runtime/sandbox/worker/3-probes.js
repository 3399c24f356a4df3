// Probes: what the spliced code calls.

const openSwitches = { __proto__: null };

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
    present(site, value) {
      decided(site, value === null || value === undefined ? "false" : "true");
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
    atMember(site, object, key) {
      const value = object[key];
      if (typeof value !== "function") return value;
      const tool = mapGet(toolsOf, value);
      if (tool !== undefined) return makeTool(tool.server, tool.tool, site);
      return (...rest) => apply(value, object, rest);
    },
  });
