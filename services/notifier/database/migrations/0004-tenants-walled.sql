-- The list of tenants is open to every session; each may change its own row alone.
alter table tenants enable row level security;
alter table tenants force row level security;
create policy listed on tenants for select using (true);
create policy added on tenants for insert
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')));
create policy changed on tenants for update using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));
