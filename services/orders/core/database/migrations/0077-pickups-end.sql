-- Housekeeping deletes pickups that ended and messages that are closed (docs/operators/runbook.md#what-grows).
do $$
begin
  execute format('grant delete on pickups, tickets to %I', current_setting('app.role'));
end $$;
