-- What the notifier is to be told, written in the transaction that made it true: one row for all orders of one batch.
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
  constraint outbox_pkey primary key (tenant_id, outbox_id),
  constraint outbox_type_check check (type in ('order.created', 'order.status_changed'))
);

-- Which process tells a tenant's events now.
create table outbox_leases (
  tenant_id text collate "C" not null,
  holder uuid not null,
  held_until timestamptz not null,
  constraint outbox_leases_pkey primary key (tenant_id)
);

-- Without a member of staff it was the merchant.
alter table order_events add column staff_name text, add column note text;

-- The lists: newest first, of a merchant and of all. What merchants and customers ask by: order number and phone, the
-- latter by its last nine digits, since it is written with and without a country code.
create index orders_of_merchant on orders (tenant_id, merchant_id, created_at, waybill_number);
create index orders_by_age on orders (tenant_id, created_at, waybill_number);
create index orders_by_order_no on orders (tenant_id, order_no) where order_no is not null;
create index orders_by_phone on orders (tenant_id, right(translate(customer_phone, ' +-().', ''), 9));

-- The relay works for all tenants: it names '*'.
alter table outbox enable row level security;
alter table outbox force row level security;
create policy of_tenant on outbox using (
  tenant_id = (select nullif(current_setting('app.tenant', true), ''))
  or (select current_setting('app.tenant', true)) = '*');

alter table outbox_leases enable row level security;
alter table outbox_leases force row level security;
create policy of_tenant on outbox_leases using (
  tenant_id = (select nullif(current_setting('app.tenant', true), ''))
  or (select current_setting('app.tenant', true)) = '*');

do $$ begin
  execute format('grant select, insert, delete on outbox to %I', current_setting('app.role'));
  execute format('grant select, insert, update, delete on outbox_leases to %I', current_setting('app.role'));
end $$;
