-- When a run last got further, and who made and revoked API keys (EX-3, HIL-3).

ALTER TABLE run_log
  ADD COLUMN epoch bigint NOT NULL DEFAULT 0; -- of the run, when it was appended
COMMENT ON COLUMN run_log.epoch IS 'says how often a run was taken over since it got further';

ALTER TABLE permission_audit_log
  DROP CONSTRAINT permission_audit_log_event_check,
  ADD CONSTRAINT permission_audit_log_event_check CHECK (event IN (
    'asked', 'granted', 'used', 'refused', 'revoked', 'expired', 'withdrawn', 'accepted',
    'key_created', 'key_revoked'));
