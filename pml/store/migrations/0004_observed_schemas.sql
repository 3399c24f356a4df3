-- What results showed of tools whose server declares no output schema (SA-10).  It belongs to
-- the tool as it is described: a tool that changes loses it.

ALTER TABLE tool_schema ADD COLUMN observed_schema json;
COMMENT ON COLUMN tool_schema.observed_schema IS 'kinds and names of fields, no values';
