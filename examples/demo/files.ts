// The demo without git: what lies in this folder?  `args`: repository, report.
const [listing, now] = await Promise.all([
  mcp.files.list_directory({ path: args.repository }),
  mcp.time.get_current_time({ timezone: "UTC" }),
]);

const names = [...listing.content.matchAll(/^\[FILE\] (.+\.(?:md|toml|txt|py))$/gm)].map(([, name]) => name);
const lines: string[] = [];
if (names.length > 0) {
  const texts = await Promise.all(
    names.slice(0, 6).map((name) => mcp.files.read_text_file({ path: `${args.repository}/${name}` })),
  );
  texts.forEach((text, i) => lines.push(`- ${names[i]}: ${text.content.split("\n").length} lines`));
} else {
  lines.push("No text files.");
}

const report = ["# What lies here", "", `As of ${now.datetime}.`, "", ...lines, ""].join("\n");
await mcp.files.write_file({ path: args.report, content: report });
return { files: names.length, report: args.report };
