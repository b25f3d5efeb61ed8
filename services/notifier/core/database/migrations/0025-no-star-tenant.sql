-- '*' as the tenant no longer shows the rows of all tenants: no process that may run beside this schema sets it.
do $$
declare
  name text;
begin
  foreach name in array array['channels', 'secrets', 'registrations', 'templates', 'messages', 'message_events',
    'recipients', 'conversations', 'tokens', 'idempotency_keys', 'rules', 'events', 'audit']
  loop
    execute format(
      'alter policy of_tenant on %I using (
         tenant_id = (select nullif(current_setting(''app.tenant'', true), ''''))
         or (select current_setting(''app.all_tenants'', true) = ''on''))', name);
  end loop;
end $$;
