-- The relay looks for waiting events of all tenants: it sets app.all_tenants = 'on' for its transaction. '*' as the tenant,
-- which meant the same, is still accepted: processes of the release before this one run beside this schema while they are
-- replaced. The next release drops it. Without subqueries, which Citus refuses in policies.
alter policy of_tenant on outbox using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or current_setting('app.all_tenants', true) = 'on'
  or current_setting('app.tenant', true) = '*');

alter policy of_tenant on outbox_leases using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or current_setting('app.all_tenants', true) = 'on'
  or current_setting('app.tenant', true) = '*');
