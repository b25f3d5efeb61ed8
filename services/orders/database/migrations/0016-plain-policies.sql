-- Policies without subqueries, and sequences for the service's role: Citus refuses the one and asks for the other
-- (docs/operators/scaling.md#citus).
do $$
declare name text;
begin
  foreach name in array array[
    'states', 'cities', 'rate_cards', 'zones', 'zone_cities', 'rates', 'merchants', 'businesses', 'tokens', 'orders',
    'order_events', 'waybill_counters', 'idempotency_keys', 'statuses', 'status_moves', 'audit'
  ] loop
    execute format(
      'alter policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
  end loop;
  alter policy added on tenants with check (tenant_id = nullif(current_setting('app.tenant', true), ''));
  alter policy changed on tenants using (tenant_id = nullif(current_setting('app.tenant', true), ''));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
