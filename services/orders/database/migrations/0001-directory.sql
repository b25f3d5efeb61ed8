-- Tenants and the places they serve. Every other table repeats tenant_id first in its keys, so that all of it can be
-- sharded by tenant, and lets a session see only the tenant named in app.tenant.
create table tenants (
  tenant_id text collate "C" not null,
  name text not null,
  currency text not null,
  country text not null,
  time_zone text not null,
  waybill_mode text not null,
  waybill_format text not null,
  secondary_phone boolean not null,
  -- Grows with every change that an operator makes to the tenant: tells a process that what it keeps in memory is old.
  version bigint not null default 1,
  constraint tenants_pkey primary key (tenant_id),
  constraint tenants_waybill_mode_check check (waybill_mode in ('auto', 'manual'))
);

create table states (
  tenant_id text collate "C" not null,
  state_id integer not null,
  name text not null,
  is_active boolean not null,
  constraint states_pkey primary key (tenant_id, state_id),
  constraint states_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

create table cities (
  tenant_id text collate "C" not null,
  city_id integer not null,
  state_id integer not null,
  name text not null,
  postal_code text,
  is_active boolean not null,
  constraint cities_pkey primary key (tenant_id, city_id),
  constraint cities_state_fkey foreign key (tenant_id, state_id) references states (tenant_id, state_id)
);

-- The list of tenants is open to every session; each may change its own row alone.
alter table tenants enable row level security;
alter table tenants force row level security;
create policy listed on tenants for select using (true);
create policy added on tenants for insert
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')));
create policy changed on tenants for update using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table states enable row level security;
alter table states force row level security;
create policy of_tenant on states using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table cities enable row level security;
alter table cities force row level security;
create policy of_tenant on cities using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$ begin
  execute format('grant usage on schema public to %I', current_setting('app.role'));
  execute format('grant select, insert, update on tenants, states, cities to %I', current_setting('app.role'));
end $$;
