-- Orders carry no foreign keys: each would be checked row by row, and the one statement that writes a batch has
-- already read the version of the tenant that the batch was checked against. Cities and businesses are never deleted.
create table orders (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  merchant_id bigint not null,
  business_id integer not null,
  order_no text,
  status_key text collate "C" not null,
  customer_name text not null,
  customer_address text not null,
  customer_phone text not null,
  customer_secondary_phone text,
  customer_email text,
  origin_city_id integer not null,
  destination_city_id integer not null,
  -- Whole units of the tenant's currency.
  cod integer not null,
  -- Kilograms.
  weight double precision not null,
  description text,
  remark text,
  delivery_charge numeric(16, 2) not null,
  created_at timestamptz not null default now(),
  constraint orders_pkey primary key (tenant_id, waybill_number)
);

-- The timeline of an order, oldest first by event_id.
create table order_events (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  event_id bigint generated always as identity,
  status_key text collate "C" not null,
  happened_at timestamptz not null default now(),
  constraint order_events_pkey primary key (tenant_id, waybill_number, event_id)
);

-- The next number that no process has taken for the tenant's waybill mask.
create table waybill_counters (
  tenant_id text collate "C" not null,
  next_number bigint not null,
  constraint waybill_counters_pkey primary key (tenant_id)
);

-- The answers of calls that carried an Idempotency-Key, kept 24 h.
create table idempotency_keys (
  tenant_id text collate "C" not null,
  -- The merchant and the call.
  scope text collate "C" not null,
  idempotency_key text collate "C" not null,
  -- SHA-256 of the request body's bytes.
  fingerprint bytea not null,
  -- The waybill numbers.
  result text[] not null,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_pkey primary key (tenant_id, scope, idempotency_key)
);
create index idempotency_keys_age on idempotency_keys (tenant_id, created_at);

alter table orders enable row level security;
alter table orders force row level security;
create policy of_tenant on orders using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table order_events enable row level security;
alter table order_events force row level security;
create policy of_tenant on order_events using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table waybill_counters enable row level security;
alter table waybill_counters force row level security;
create policy of_tenant on waybill_counters
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy of_tenant on idempotency_keys
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$ begin
  execute format('grant select, insert, update on orders, waybill_counters to %I', current_setting('app.role'));
  execute format('grant select, insert on order_events to %I', current_setting('app.role'));
  execute format('grant select, insert, delete on idempotency_keys to %I', current_setting('app.role'));
end $$;
