-- ST-6: every table with user_id shows a session only the rows of its pml.user_id, the
-- tables' owner included.  Defaults follow the setting, so that a row goes to its writer.

DO $$
DECLARE
  name text;
BEGIN
  FOR name IN
    SELECT c.relname
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id'
    WHERE c.relnamespace = 'pml'::regnamespace AND c.relkind = 'r'
  LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN user_id SET DEFAULT current_pml_user()', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_rows ON %I USING (user_id = current_setting(''pml.user_id'', true))',
      name);
  END LOOP;
END
$$;
