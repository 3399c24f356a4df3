// Probes: what the spliced code calls.

const openSwitches = { __proto__: null };
const decided = (site, outcome) =>
  record('{"type":"decide","site":' + stringify(site) + ',"outcome":' + stringify(outcome) + "}");

const makeProbes = (args) =>
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
      record('{"type":"reach","site":' + stringify(site) + "}");
      return value;
    },
    arg: (name, value) => (hasOwn(args, name) ? args[name] : value),
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
