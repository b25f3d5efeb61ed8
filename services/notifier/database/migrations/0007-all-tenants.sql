-- Work for all tenants sets app.all_tenants = 'on' for its transaction. '*' as the tenant, which meant the same, is still
-- accepted: processes of 0.1.0 run beside this schema while they are replaced. A migration of 0.3.0 drops it.
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
         or (select current_setting(''app.all_tenants'', true) = ''on'' or current_setting(''app.tenant'', true) = ''*''))',
      name);
  end loop;
end $$;
