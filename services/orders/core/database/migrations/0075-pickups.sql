-- Where a courier fetches the parcels of a business, and what merchants asked for (docs/merchants/pickups.md).
create table pickup_addresses (
  tenant_id text collate "C" not null,
  address_id bigint generated always as identity,
  merchant_id bigint not null,
  business_id integer not null,
  name text not null,
  address text not null,
  city_id integer not null,
  phone text not null,
  is_default boolean not null,
  -- false: the merchant deleted it; earlier pickups still name it.
  is_active boolean not null default true,
  constraint pickup_addresses_pkey primary key (tenant_id, address_id)
);
create index pickup_addresses_of_merchant on pickup_addresses (tenant_id, merchant_id, business_id);

create table pickups (
  tenant_id text collate "C" not null,
  pickup_id bigint generated always as identity,
  merchant_id bigint not null,
  business_id integer not null,
  -- 0: the business has none; staff ask the merchant.
  address_id bigint not null,
  day date not null,
  -- Local times such as 09:00. null: any.
  from_time text collate "C",
  to_time text collate "C",
  -- open, done, missed or withdrawn.
  state text collate "C" not null default 'open',
  -- true: all confirmed parcels that are not picked up, on the day.
  is_all boolean not null,
  waybill_numbers text[] collate "C" not null,
  -- How many parcels the merchant said beside the listed ones. 0: none.
  parcels integer not null,
  note text,
  -- The member of staff. null: nobody.
  rider_id bigint,
  requested_at timestamptz not null,
  ended_at timestamptz,
  ended_by text,
  -- Why it was missed.
  reason text,
  -- What was handed over, and how that differs from what was expected. null: not done.
  scanned text[] collate "C",
  missing text[] collate "C",
  extra text[] collate "C",
  constraint pickups_pkey primary key (tenant_id, pickup_id)
);
create unique index pickups_open on pickups (tenant_id, business_id, address_id, day) where state = 'open';
create index pickups_by_day on pickups (tenant_id, day, pickup_id);
create index pickups_of_merchant on pickups (tenant_id, merchant_id, pickup_id);

create table tickets (
  tenant_id text collate "C" not null,
  ticket_id bigint generated always as identity,
  merchant_id bigint not null,
  -- As merchants' programs number them; 4 is a pickup.
  type_id integer not null,
  subject text not null,
  message text not null,
  created_at timestamptz not null,
  closed_at timestamptz,
  -- The replies of staff, oldest first: text, by, at.
  replies jsonb not null,
  constraint tickets_pkey primary key (tenant_id, ticket_id)
);
create index tickets_of_merchant on tickets (tenant_id, merchant_id, ticket_id);
create index tickets_open on tickets (tenant_id, ticket_id) where closed_at is null;

do $$
declare name text;
begin
  foreach name in array array['pickup_addresses', 'pickups', 'tickets'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
    execute format('grant select, insert, update on %I to %I', name, current_setting('app.role'));
  end loop;
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
