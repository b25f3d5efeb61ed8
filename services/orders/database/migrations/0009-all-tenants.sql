-- The relay looks for waiting events of all tenants: it sets app.all_tenants = 'on' for its transaction. '*' as the tenant,
-- which meant the same, is still accepted: processes of 0.1.0 run beside this schema while they are replaced. A migration of
-- 0.3.0 drops it. Without subqueries, which Citus refuses in policies.
alter policy of_tenant on outbox using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or current_setting('app.all_tenants', true) = 'on'
  or current_setting('app.tenant', true) = '*');

alter policy of_tenant on outbox_leases using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or current_setting('app.all_tenants', true) = 'on'
  or current_setting('app.tenant', true) = '*');
