// move_file is not in permissions.yaml: a person has to agree first, so nothing of this runs.
const readme = await mcp.files.read_text_file({ path: `${args.repository}/README.md`, head: 1 });
await mcp.files.move_file({ source: `${args.repository}/README.md`, destination: `${args.repository}/${readme.content}` });
