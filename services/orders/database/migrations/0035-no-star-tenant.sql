-- '*' as the tenant no longer shows the rows of all tenants: no process that may run beside this schema sets it.
alter policy of_tenant on outbox using (
  tenant_id = nullif(current_setting('app.tenant', true), '') or current_setting('app.all_tenants', true) = 'on');

alter policy of_tenant on outbox_leases using (
  tenant_id = nullif(current_setting('app.tenant', true), '') or current_setting('app.all_tenants', true) = 'on');
