-- Replaces the migrations of 0.2.0: 0001-directory 0002-pricing 0003-access 0004-booking 0005-outbox 0006-login
-- 0007-statuses 0008-audit 0009-all-tenants 0010-logins 0011-merchants 0012-earlier-logins 0013-checks 0014-messaging
-- 0015-traces 0016-plain-policies 0017-changes 0018-aliases 0019-webhooks 0020-edits 0021-summary 0022-summary
-- 0023-customer-actions 0023-events-of-decisions 0023-timeline-actor 0023-trail-of-customers 0024-company-color
-- 0025-staff 0026-outcomes 0026-rate-gaps 0027-events-of-edits 0028-former-values 0029-tracking-links 0030-staff-roles
-- 0034-orders-by-city

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
  -- Say how to treat orders that look wrong but are legal; null: with a warning.
  phone_check text,
  duplicate_check text,
  unusual_check text,
  -- A company without messaging: none of its events are written to the outbox.
  messaging boolean not null default true,
  -- Colours the pages of its parcels, such as #0a5c8f. null: they are plain.
  color text collate "C",
  -- Signs the links to the pages of the company's parcels.
  link_key uuid not null default gen_random_uuid(),
  -- Where recipients reach the company: shown on the pages of its parcels.
  contact text,
  constraint tenants_pkey primary key (tenant_id),
  constraint tenants_waybill_mode_check check (waybill_mode in ('auto', 'manual')),
  constraint tenants_phone_check_check check (phone_check in ('refuse', 'warn', 'off')),
  constraint tenants_duplicate_check_check check (duplicate_check in ('refuse', 'warn', 'off')),
  constraint tenants_unusual_check_check check (unusual_check in ('refuse', 'warn', 'off'))
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

-- Other names of cities (docs/merchants/places.md#aliases).
create table city_aliases (
  tenant_id text collate "C" not null,
  city_id integer not null,
  alias text collate "C" not null,
  constraint city_aliases_pkey primary key (tenant_id, city_id, alias),
  constraint city_aliases_city_fkey foreign key (tenant_id, city_id) references cities (tenant_id, city_id)
);

-- A rate card prices a parcel by the zones of its two cities and its weight.
create table rate_cards (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  constraint rate_cards_pkey primary key (tenant_id, rate_card),
  constraint rate_cards_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

create table zones (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  zone text collate "C" not null,
  -- The zone of every city that no other zone of the card names.
  is_elsewhere boolean not null,
  -- Merchants' programs know a zone by a number: it is the tenant's own, and stays as long as the zone does.
  zone_id integer not null default 0,
  constraint zones_pkey primary key (tenant_id, rate_card, zone),
  constraint zones_card_fkey foreign key (tenant_id, rate_card) references rate_cards (tenant_id, rate_card)
);

create table zone_cities (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  city_id integer not null,
  zone text collate "C" not null,
  constraint zone_cities_pkey primary key (tenant_id, rate_card, city_id),
  constraint zone_cities_city_fkey foreign key (tenant_id, city_id) references cities (tenant_id, city_id),
  constraint zone_cities_zone_fkey foreign key (tenant_id, rate_card, zone)
    references zones (tenant_id, rate_card, zone)
);

create table rates (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  from_zone text collate "C" not null,
  to_zone text collate "C" not null,
  first_kg numeric(12, 2) not null,
  each_extra_kg numeric(12, 2) not null,
  constraint rates_pkey primary key (tenant_id, rate_card, from_zone, to_zone),
  constraint rates_from_fkey foreign key (tenant_id, rate_card, from_zone)
    references zones (tenant_id, rate_card, zone),
  constraint rates_to_fkey foreign key (tenant_id, rate_card, to_zone) references zones (tenant_id, rate_card, zone)
);

-- The statuses of a tenant and the moves that its staff may make.
create table statuses (
  tenant_id text collate "C" not null,
  status_key text collate "C" not null,
  name text not null,
  description text not null,
  -- By name, such as success.
  color text not null,
  -- A merchant may give this status to an order of its own.
  is_merchant_status boolean not null,
  -- The place in the list, from 1.
  position integer not null,
  created_at timestamptz not null default now(),
  constraint statuses_pkey primary key (tenant_id, status_key),
  constraint statuses_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

create table status_moves (
  tenant_id text collate "C" not null,
  from_key text collate "C" not null,
  to_key text collate "C" not null,
  constraint status_moves_pkey primary key (tenant_id, from_key, to_key),
  constraint status_moves_from_fkey foreign key (tenant_id, from_key) references statuses (tenant_id, status_key),
  constraint status_moves_to_fkey foreign key (tenant_id, to_key) references statuses (tenant_id, status_key)
);

-- Who may call: merchants with their businesses, and the bearer tokens of merchants and staff.
create table merchants (
  tenant_id text collate "C" not null,
  merchant_id bigint generated always as identity,
  email text collate "C" not null,
  name text not null,
  -- argon2id, with its parameters and salt.
  password_hash text not null,
  rate_card text collate "C",
  -- One that is not active has no valid token and cannot log in; its orders stay.
  is_active boolean not null default true,
  constraint merchants_pkey primary key (tenant_id, merchant_id),
  constraint merchants_email_key unique (tenant_id, email),
  constraint merchants_tenant_fkey foreign key (tenant_id) references tenants (tenant_id),
  constraint merchants_card_fkey foreign key (tenant_id, rate_card) references rate_cards (tenant_id, rate_card)
);

create table businesses (
  tenant_id text collate "C" not null,
  business_id integer not null,
  merchant_id bigint not null,
  name text not null,
  is_default boolean not null,
  is_active boolean not null,
  constraint businesses_pkey primary key (tenant_id, business_id),
  constraint businesses_merchant_fkey foreign key (tenant_id, merchant_id)
    references merchants (tenant_id, merchant_id)
);

-- Members of staff who log in. Their tokens are session tokens: staff_name is the person's name.
create table staff (
  tenant_id text collate "C" not null,
  staff_id bigint generated always as identity,
  email text collate "C" not null,
  name text not null,
  role text collate "C" not null,
  -- argon2id, with its parameters and salt.
  password_hash text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  -- All roles of a person, the first of them in `role` too. null, or another first one: `role` alone.
  roles text[],
  constraint staff_pkey primary key (tenant_id, staff_id),
  constraint staff_email_key unique (tenant_id, email),
  constraint staff_name_key unique (tenant_id, name),
  constraint staff_role_check check (role in ('viewer', 'dispatcher', 'messenger', 'admin')),
  constraint staff_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

create table tokens (
  tenant_id text collate "C" not null,
  token_id text collate "C" not null,
  -- SHA-256 of the token: the token itself is shown once and kept nowhere.
  hash bytea not null,
  merchant_id bigint,
  staff_name text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Within a minute.
  last_used_at timestamptz,
  -- A merchant has a bounded number of live tokens that logins made; those that an operator made do not count.
  from_login boolean not null default false,
  staff_id bigint,
  constraint tokens_pkey primary key (tenant_id, token_id),
  constraint tokens_hash_key unique (tenant_id, hash),
  constraint tokens_holder_check check ((merchant_id is null) <> (staff_name is null)),
  constraint tokens_tenant_fkey foreign key (tenant_id) references tenants (tenant_id),
  constraint tokens_merchant_fkey foreign key (tenant_id, merchant_id) references merchants (tenant_id, merchant_id),
  constraint tokens_staff_fkey foreign key (tenant_id, staff_id) references staff (tenant_id, staff_id)
);
-- Every login makes a token: those that ended are deleted after a while, and found by this index.
create index tokens_ended on tokens (tenant_id, least(expires_at, revoked_at));
create index tokens_of_logins on tokens (tenant_id, merchant_id) where from_login and revoked_at is null;
create index tokens_of_staff on tokens (tenant_id, staff_id) where from_login and revoked_at is null;

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
  -- A phone is looked for by its last nine digits, since it is written with and without a country code. Under row-level
  -- security an index on an expression is not used, since its functions are not leakproof: the digits are a column.
  phone_key text collate "C" generated always as (right(translate(customer_phone, ' +-().', ''), 9)) stored,
  -- Says if a delivered order was delivered at the first attempt. null: it is not delivered, or was so by an earlier version.
  first_attempt boolean,
  constraint orders_pkey primary key (tenant_id, waybill_number)
);
-- The lists, newest first: of all, and in a status, by which `apply` also finds whether an order has one that is to go.
create index orders_by_age on orders (tenant_id, created_at, waybill_number);
create index orders_by_status on orders (tenant_id, status_key, created_at, waybill_number);
-- Orders that look alike are looked for among the newest of a phone or an order number.
create index orders_by_phone on orders (tenant_id, phone_key, created_at);
create index orders_by_order_no on orders (tenant_id, order_no, created_at) where order_no is not null;
-- The lists of a merchant, with what a summary adds up: it reads nothing else.
create index orders_of_merchant on orders (tenant_id, merchant_id, created_at, waybill_number)
  include (business_id, status_key, destination_city_id, cod, first_attempt);

-- The timeline of an order, oldest first by event_id.
create table order_events (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  event_id bigint generated always as identity,
  status_key text collate "C" not null,
  happened_at timestamptz not null default now(),
  staff_name text,
  note text,
  -- 'customer', or null: staff_name, else the merchant.
  actor text collate "C",
  constraint order_events_pkey primary key (tenant_id, waybill_number, event_id)
);
-- Deliveries and attempts that failed, by time: the staff's figures of a day. Nothing that is booked adds to it.
create index order_events_outcomes on order_events (tenant_id, happened_at)
  include (status_key, waybill_number, event_id)
  where status_key in ('key_7', 'key_13', 'key_14', 'key_15', 'key_16', 'key_17');

-- Changes of an order by merchants and staff, apart from its statuses: nobody takes these for a place on its way.
create table order_edits (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  edit_id bigint generated always as identity,
  -- Columns of orders.
  fields text[] not null,
  edited_at timestamptz not null,
  -- null: the merchant.
  staff_name text,
  reason text,
  -- 'customer', or null: staff_name, else the merchant.
  actor text collate "C",
  -- The values before the edit, by the names in `fields`, for staff. null: an earlier version made it.
  previous jsonb,
  constraint order_edits_pkey primary key (tenant_id, waybill_number, edit_id)
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
  -- The warnings of the response that is repeated, as JSON; null when there were none.
  warnings text,
  constraint idempotency_keys_pkey primary key (tenant_id, scope, idempotency_key)
);
create index idempotency_keys_age on idempotency_keys (tenant_id, created_at);

-- Requests of customers by a button of a message, with their outcomes: each id once.
create table customer_actions (
  tenant_id text collate "C" not null,
  action_id text collate "C" not null,
  -- Names the request when staff decide it.
  request_id bigint generated always as identity,
  waybill_number text collate "C" not null,
  action text collate "C" not null,
  outcome text collate "C" not null,
  -- Why it was refused.
  detail text,
  -- The state of a request that staff decide; null also for one that was open already.
  status text collate "C",
  happened_at timestamptz not null,
  stored_at timestamptz not null default now(),
  decided_at timestamptz,
  decided_by text,
  note text,
  constraint customer_actions_pkey primary key (tenant_id, action_id),
  constraint customer_actions_outcome_check check (outcome in ('done', 'refused', 'asked', 'requested')),
  constraint customer_actions_status_check check (status in ('open', 'accepted', 'declined'))
);
-- Whoever stores a request holds its order's row.
create unique index customer_actions_open on customer_actions (tenant_id, waybill_number, action) where status = 'open';
create index customer_actions_of_order on customer_actions (tenant_id, waybill_number);
create index customer_requests on customer_actions (tenant_id, request_id) where status is not null;
create index customer_actions_by_age on customer_actions (tenant_id, stored_at);

-- Events for the notifier, written in the transaction that made them true: one row for all orders of one batch.
create table outbox (
  tenant_id text collate "C" not null,
  -- Events of one waybill are told in this order: whoever moves an order holds its row while this number is given.
  outbox_id bigint generated always as identity,
  -- Names the row to the notifier: the numbers above begin anew in another database.
  row_key uuid not null default gen_random_uuid(),
  type text collate "C" not null,
  waybill_numbers text[] not null,
  -- The status that each of them came to.
  status_keys text[] not null,
  note text,
  happened_at timestamptz not null default now(),
  -- The trace of each waybill's change, as W3C's traceparent; one that all have in common stands there once.
  traceparents text[],
  constraint outbox_pkey primary key (tenant_id, outbox_id),
  constraint outbox_type_check check (
    type in ('order.created', 'order.status_changed', 'order.edited') or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
  )
);

-- Which process tells a tenant's events now.
create table outbox_leases (
  tenant_id text collate "C" not null,
  holder uuid not null,
  held_until timestamptz not null,
  -- Since when the notifier refuses the tenant's events because it does not know the tenant, and when the log last said so.
  unknown_since timestamptz,
  warned_at timestamptz,
  constraint outbox_leases_pkey primary key (tenant_id)
);

-- Changes of a merchant's orders, written in the transaction that made them true: one row for its part of a batch.
-- Nothing reads these in their order, since transactions commit in another one: they become rows of `changes`.
create table new_changes (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  -- Changes of one waybill keep this order: whoever makes them holds its row while this number is given.
  change_id bigint generated always as identity,
  type text collate "C" not null,
  waybill_numbers text[] not null,
  -- The status of each waybill, or the one of all.
  status_keys text[] not null,
  -- The names of what an edit changed.
  fields text[],
  actor text collate "C" not null,
  happened_at timestamptz not null default now(),
  constraint new_changes_pkey primary key (tenant_id, merchant_id, change_id),
  constraint new_changes_type_check check (type in ('order.created', 'order.status_changed', 'order.edited')),
  constraint new_changes_actor_check check (actor in ('merchant', 'staff', 'customer'))
);

-- The feed of each merchant. A row of n waybills has the positions from `position` on; they have no gaps.
create table changes (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  position bigint not null,
  type text collate "C" not null,
  waybill_numbers text[] not null,
  status_keys text[] not null,
  fields text[],
  actor text collate "C" not null,
  happened_at timestamptz not null,
  constraint changes_pkey primary key (tenant_id, merchant_id, position)
);
create index changes_by_age on changes (tenant_id, happened_at);

-- Whoever numbers a merchant's changes holds this row.
create table feeds (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  -- Positions of another epoch are of a database that was replaced by its backup.
  epoch uuid not null default gen_random_uuid(),
  last_position bigint not null default 0,
  -- Changes up to here are no longer kept.
  deleted_position bigint not null default 0,
  constraint feeds_pkey primary key (tenant_id, merchant_id)
);

-- Where merchants want to be told of changes. Which process sends to an endpoint now is its holder.
create table webhook_endpoints (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  merchant_id bigint not null,
  url text not null,
  events text[] not null,
  -- deleted: until its deliveries are.
  state text collate "C" not null default 'enabled',
  disabled_reason text collate "C",
  disabled_at timestamptz,
  -- The position in the merchant's feed: changes up to here are in webhook_deliveries or were not wanted.
  position bigint not null,
  -- Positions that are to be sent again: behind the first, up to the last.
  replay_after bigint,
  replay_to bigint,
  -- Since the last success.
  failures integer not null default 0,
  failing_since timestamptz,
  -- Nothing is sent before.
  retry_at timestamptz,
  key_id text collate "C" not null,
  sealed_secret bytea not null,
  -- Signs too until then.
  previous_key_id text collate "C",
  previous_secret bytea,
  previous_until timestamptz,
  holder uuid,
  held_until timestamptz,
  created_at timestamptz not null default now(),
  constraint webhook_endpoints_pkey primary key (tenant_id, endpoint_id),
  constraint webhook_endpoints_state_check check (state in ('enabled', 'disabled', 'deleted'))
);
create index webhook_endpoints_of_merchant on webhook_endpoints (tenant_id, merchant_id);

-- One event for one endpoint.
create table webhook_deliveries (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  position bigint not null,
  -- webhook-id
  message_id text collate "C" not null,
  type text collate "C" not null,
  waybill_number text collate "C" not null,
  body text not null,
  happened_at timestamptz not null,
  state text collate "C" not null default 'pending',
  attempts integer not null default 0,
  -- null while pending: an earlier event of the waybill comes first.
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  -- The status of the last attempt's response.
  code integer,
  milliseconds integer,
  error text,
  response_body text,
  constraint webhook_deliveries_pkey primary key (tenant_id, endpoint_id, position),
  constraint webhook_deliveries_state_check check (state in ('pending', 'delivered', 'failed'))
);
create index webhook_deliveries_due on webhook_deliveries (tenant_id, endpoint_id, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_waybill on webhook_deliveries (tenant_id, endpoint_id, waybill_number, position)
  where state = 'pending';
create index webhook_deliveries_old on webhook_deliveries (tenant_id, happened_at) where state = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (tenant_id, endpoint_id, position) where state = 'failed';
create index webhook_deliveries_finished on webhook_deliveries (tenant_id, last_attempt_at) where state <> 'pending';

-- Combinations of cities that merchants asked for and their rate cards lack, by the day of the tenant; kept for 90 days.
create table rate_gaps (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  day date not null,
  origin_city_id integer not null,
  destination_city_id integer not null,
  -- Parcels.
  asked_for bigint not null,
  last_at timestamptz not null,
  constraint rate_gaps_pkey primary key (tenant_id, merchant_id, day, origin_city_id, destination_city_id)
);
create index rate_gaps_by_day on rate_gaps (tenant_id, day);

-- Who did what: operators, staff, merchants, customers by buttons. Rows are only ever added.
create table audit (
  tenant_id text collate "C" not null,
  audit_id bigint generated always as identity,
  happened_at timestamptz not null default now(),
  -- operator: a user of the machine; staff: by name; merchant: by id.
  actor_kind text collate "C" not null,
  actor text not null,
  -- The token that they called with, or that a login made.
  token_id text collate "C",
  -- Such as token.created.
  action text collate "C" not null,
  object_id text,
  -- x-request-id of the call.
  request_id text collate "C",
  constraint audit_pkey primary key (tenant_id, audit_id),
  constraint audit_actor_kind_check check (actor_kind in ('operator', 'staff', 'merchant', 'customer'))
);
create index audit_happened on audit (tenant_id, happened_at);

-- The list of tenants is open to every session; each may change its own row alone.
alter table tenants enable row level security;
alter table tenants force row level security;
create policy listed on tenants for select using (true);
create policy added on tenants for insert with check (tenant_id = nullif(current_setting('app.tenant', true), ''));
create policy changed on tenants for update using (tenant_id = nullif(current_setting('app.tenant', true), ''));

-- Policies have no subqueries, and the service's role has the sequences: Citus refuses the one and asks for the other
-- (docs/operators/scaling.md#citus).
do $$
declare
  own text := 'tenant_id = nullif(current_setting(''app.tenant'', true), '''')';
  all_tenants text := 'current_setting(''app.all_tenants'', true) = ''on''';
  name text;
  rights text;
begin
  for name, rights in
    select unnest(array['order_events', 'order_edits', 'audit']), 'select, insert'
    union all
    select unnest(array['states', 'cities', 'merchants', 'businesses', 'staff', 'orders', 'waybill_counters', 'feeds']),
      'select, insert, update'
    union all
    select unnest(array['outbox', 'new_changes', 'changes']), 'select, insert, delete'
    union all
    select 'idempotency_keys', 'select, insert, delete, update (warnings)'
    union all
    select 'customer_actions', 'select, insert, delete, update (status, decided_at, decided_by, note)'
    union all
    select unnest(array['city_aliases', 'rate_cards', 'zones', 'zone_cities', 'rates', 'statuses', 'status_moves', 'tokens',
      'outbox_leases', 'webhook_endpoints', 'webhook_deliveries', 'rate_gaps']), 'select, insert, update, delete'
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy of_tenant on %I using (%s)', name, own);
    execute format('grant %s on %I to %I', rights, name, current_setting('app.role'));
  end loop;
  -- The relay works for all tenants: it sets app.all_tenants = 'on' for its transaction.
  foreach name in array array['outbox', 'outbox_leases'] loop
    execute format('alter policy of_tenant on %I using (%s or %s)', name, own, all_tenants);
  end loop;
  -- The processes poll for whoever waits for changes.
  foreach name in array array['new_changes', 'feeds', 'webhook_endpoints', 'webhook_deliveries'] loop
    execute format('create policy of_all_tenants on %I for select using (%s)', name, all_tenants);
  end loop;
  execute format('grant select, insert, update on tenants to %I', current_setting('app.role'));
  execute format('grant usage on schema public to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
