// Not in permissions.yaml: a person has to agree first, so nothing of this program runs.
await mcp.git.git_reset({ repo_path: args.repository });
