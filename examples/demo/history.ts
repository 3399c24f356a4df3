// What happened in this repository?  Groups its history, looks into the newest work, reads the
// files that it touched, and writes a report.  `args`: repository, report.  What stands as a
// literal in the calls (how many commits, since when, which time zone) can be set from outside
// once PML has learned this.

interface Commit { id: string; author: string; week: string; subject: string }

// The history, the state of the checkout and the time do not depend on each other.
const [log, status, now] = await Promise.all([
  mcp.git.git_log({ repo_path: args.repository, max_count: 200, start_timestamp: "10 years ago" }),
  mcp.git.git_status({ repo_path: args.repository }),
  mcp.time.get_current_time({ timezone: "UTC" }),
]);

// Plain code between the calls: the git server answers with text.
const commits: Commit[] = [...log.matchAll(
  /^Commit: '?(\w+)'?\nAuthor: (.*)\nDate: (.*)\nMessage: '?(.*)$/gm,
)].map(([, id, author, date, subject]) => ({ id, author, week: monday(date), subject }));

function monday(text: string): string {
  const day = new Date(text.replace(" ", "T"));
  day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
  return day.toISOString().slice(0, 10);
}

function ranked(items: string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

const rows = (counts: [string, number][]) => counts.slice(0, 8).map(([name, n]) => `- ${name}: ${n}`);

// What changed lately: one look into each of the newest commits, in turn.
const touched = new Set<string>();
for (const commit of commits.slice(0, 3)) {
  try {
    const patch = await mcp.git.git_show({ repo_path: args.repository, revision: commit.id });
    for (const [, file] of patch.matchAll(/^\+\+\+ b\/(.+)$/gm)) touched.add(file);
  } catch (error) {
    break; // a shallow clone ends here
  }
}

// The files behind it, side by side; one that is gone must not stop the report.
const files = await Promise.all([...touched].slice(0, 6).map(async (file) => {
  try {
    const answer = await mcp.files.read_text_file({ path: `${args.repository}/${file}` });
    return `- ${file}: ${answer.content.split("\n").length} lines`;
  } catch (error) {
    return `- ${file}: gone`;
  }
}));

// A short history says little, so then the folder speaks too.
const last: string[] = [];
if (commits.length < 10) {
  const folder = await mcp.files.list_directory({ path: args.repository });
  last.push("## Folder", "", folder.content, "");
} else {
  last.push("## Commits by week", "", ...rows(ranked(commits.map((commit) => commit.week))), "");
}

// Unfinished work gets a line, if there is any.
if (!/working tree clean/.test(status)) {
  const diff = await mcp.git.git_diff_unstaged({ repo_path: args.repository });
  last.push("## Not committed yet", "", `${diff.match(/^[+-][^+-]/gm)?.length ?? 0} changed lines`, "");
}

const report = [
  "# What happened here", "", `The last ${commits.length} commits, as of ${now.datetime}.`, "",
  "## Commits by their first word", "", ...rows(ranked(commits.map((c) => c.subject.split(" ")[0]))), "",
  "## Commits by author", "", ...rows(ranked(commits.map((commit) => commit.author))), "",
  "## Files of the newest work", "", ...files, "",
  ...last,
].join("\n");
await mcp.files.write_file({ path: args.report, content: report });
const info = await mcp.files.get_file_info({ path: args.report });
return {
  commits: commits.length,
  files: files.length,
  report: args.report,
  bytes: Number(/size: (\d+)/.exec(info.content)?.[1]),
};
