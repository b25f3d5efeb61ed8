-- Shops that send their orders by webhooks (docs/merchants/shops.md).
create table shops (
  tenant_id text collate "C" not null,
  shop_id text collate "C" not null,
  merchant_id bigint not null,
  business_id integer not null,
  -- woocommerce or shopify.
  kind text collate "C" not null,
  name text not null,
  origin_city_id integer not null,
  -- Kilograms of a parcel whose weight the shop does not say. null: a person is asked.
  weight numeric(9,3),
  -- The status of orders that are booked without a person. null: each waits for a person.
  auto_book text collate "C",
  -- null: the secret of the shop is not known yet.
  key_id text collate "C",
  sealed_secret bytea,
  -- Signs too until then.
  previous_key_id text collate "C",
  previous_secret bytea,
  previous_until timestamptz,
  pinged_at timestamptz,
  received_at timestamptz,
  refused_at timestamptz,
  -- The webhook that writes back to the shop. null: none does.
  endpoint_id text collate "C",
  created_at timestamptz not null default now(),
  constraint shops_pkey primary key (tenant_id, shop_id)
);
create index shops_of_merchant on shops (tenant_id, merchant_id);

-- Which deliveries came, each once; housekeeping deletes old ones.
create table shop_deliveries (
  tenant_id text collate "C" not null,
  shop_id text collate "C" not null,
  delivery_id text collate "C" not null,
  topic text not null,
  -- null: the delivery held no order.
  order_id text collate "C",
  outcome text collate "C" not null,
  received_at timestamptz not null default now(),
  constraint shop_deliveries_pkey primary key (tenant_id, shop_id, delivery_id)
);

-- What a shop says of each of its orders.
create table shop_orders (
  tenant_id text collate "C" not null,
  shop_id text collate "C" not null,
  order_id text collate "C" not null,
  merchant_id bigint not null,
  -- By the clock of the shop.
  changed_at timestamptz,
  received_at timestamptz not null default now(),
  -- waiting, stays, put_away, booking or booked.
  state text collate "C" not null,
  -- Values, doubts and why it stays, as the shop said last.
  said jsonb not null,
  -- What it said when it was booked.
  booked_as jsonb,
  -- The shop has said something else since it was booked, and nobody has seen that.
  is_changed boolean not null default false,
  -- Nobody has looked yet whether it can be booked without a person.
  is_new boolean not null default true,
  booking_id text collate "C",
  waybill_number text collate "C",
  constraint shop_orders_pkey primary key (tenant_id, shop_id, order_id)
);
create index shop_orders_of_merchant on shop_orders (tenant_id, merchant_id, state, received_at);
create index shop_orders_changed on shop_orders (tenant_id, merchant_id) where is_changed;
create index shop_orders_by_waybill on shop_orders (tenant_id, waybill_number) where waybill_number is not null;
create index shop_orders_new on shop_orders (tenant_id, shop_id) where is_new and state = 'waiting';
create index shop_orders_of_booking on shop_orders (tenant_id, booking_id) where state = 'booking';

-- Batches of shops' orders that are being booked: a row is written before the batch and deleted after it.
create table shop_bookings (
  tenant_id text collate "C" not null,
  booking_id text collate "C" not null,
  merchant_id bigint not null,
  body text not null,
  started_at timestamptz not null default now(),
  constraint shop_bookings_pkey primary key (tenant_id, booking_id)
);

do $$
declare name text;
begin
  foreach name in array array['shops', 'shop_deliveries', 'shop_orders', 'shop_bookings'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
    execute format('grant select, insert, update, delete on %I to %I', name, current_setting('app.role'));
  end loop;
  foreach name in array array['shop_orders', 'shop_bookings'] loop
    execute format('create policy of_all_tenants on %I for select using (current_setting(''app.all_tenants'', true) = ''on'')', name);
  end loop;
end $$;
