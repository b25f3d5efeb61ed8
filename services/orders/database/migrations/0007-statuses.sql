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

-- Tenants that are there already get the standard set, as tracking/statuses.ts had it on this day.
insert into statuses (tenant_id, status_key, name, description, color, is_merchant_status, position)
select tenant_id, status_key, standard.name, description, color, is_merchant_status, position
from tenants, (values
  (1, 'key_1', 'DRAFT', 'secondary', true,
    'The merchant has not confirmed the order yet.'),
  (2, 'key_2', 'CONFIRMED', 'primary', true,
    'The merchant wants the parcel to be picked up.'),
  (3, 'key_3', 'CANCELLED', 'danger', true,
    'The order was cancelled before it was picked up.'),
  (4, 'key_4', 'DEFAULT WAREHOUSE CHANGE', 'primary', false,
    'Another warehouse takes the parcel in.'),
  (5, 'key_5', 'PICKUP RIDER ASSIGNED', 'info', false,
    'A rider is to fetch the parcel.'),
  (6, 'key_6', 'PICKED UP', 'info', false,
    'The rider has the parcel.'),
  (7, 'key_7', 'DELIVERED BY PICKUP RIDER', 'success', false,
    'The rider who fetched the parcel delivered it.'),
  (8, 'key_8', 'DISPATCH TO ORIGIN WAREHOUSE', 'info', false,
    'The parcel is on its way to the first warehouse.'),
  (9, 'key_9', 'RECEIVED TO ORIGIN WAREHOUSE', 'primary', false,
    'The first warehouse has the parcel.'),
  (10, 'key_10', 'DISPATCHED FROM ORIGIN WAREHOUSE', 'primary', false,
    'The parcel left the first warehouse.'),
  (11, 'key_11', 'RECEIVED AT DESTINATION WAREHOUSE', 'info', false,
    'The warehouse near the recipient has the parcel.'),
  (12, 'key_12', 'ASSIGNED TO DESTINATION RIDER', 'info', false,
    'A rider is to deliver the parcel.'),
  (13, 'key_13', 'DELIVERED', 'success', false,
    'The recipient has the parcel.'),
  (14, 'key_14', 'PARTIALLY DELIVERED', 'success', false,
    'The recipient took a part of the parcel.'),
  (15, 'key_15', 'RETURN TO DESTINATION WAREHOUSE', 'warning', false,
    'The rider brings the parcel back.'),
  (16, 'key_16', 'RESCHEDULED', 'warning', false,
    'The parcel will be delivered at another time.'),
  (17, 'key_17', 'FAILED TO DELIVER', 'danger', false,
    'The parcel could not be delivered.'),
  (18, 'key_18', 'RETURN TO ORIGIN WAREHOUSE', 'danger', false,
    'The parcel goes back to the first warehouse.'),
  (19, 'key_19', 'RECEIVED TO ORIGIN WAREHOUSE (FAILED TO DELIVER)', 'danger', false,
    'The first warehouse has the undelivered parcel.'),
  (20, 'key_20', 'RETURN TO CLIENT', 'danger', false,
    'The parcel goes back to the merchant.'),
  (21, 'key_21', 'RECEIVED FAILED ORDER', 'danger', false,
    'The merchant has the parcel again.')
) as standard (position, status_key, name, color, is_merchant_status, description);

insert into status_moves (tenant_id, from_key, to_key)
select tenant_id, from_key, to_key
from tenants, (values
  ('key_1', array['key_2']),
  ('key_2', array['key_3', 'key_4', 'key_5', 'key_9']),
  ('key_4', array['key_5', 'key_9']),
  ('key_5', array['key_6']),
  ('key_6', array['key_7', 'key_8']),
  ('key_8', array['key_9', 'key_11']),
  ('key_9', array['key_10']),
  ('key_10', array['key_11']),
  ('key_11', array['key_12']),
  ('key_12', array['key_13', 'key_14', 'key_15']),
  ('key_15', array['key_16', 'key_17']),
  ('key_16', array['key_12']),
  ('key_17', array['key_16', 'key_18']),
  ('key_18', array['key_19']),
  ('key_19', array['key_20']),
  ('key_20', array['key_21'])
) as standard (from_key, to_keys), unnest(to_keys) as to_key;

-- The lists of orders in a status, newest first; and whether any order still has one that is to go.
create index orders_by_status on orders (tenant_id, status_key, created_at, waybill_number);

-- A phone is looked for by its last nine digits. Under row-level security an index on an expression is not used, since its
-- functions are not leakproof: the digits are a column.
alter table orders add column phone_key text collate "C"
  generated always as (right(translate(customer_phone, ' +-().', ''), 9)) stored;
drop index orders_by_phone;
create index orders_by_phone on orders (tenant_id, phone_key);

alter table statuses enable row level security;
alter table statuses force row level security;
create policy of_tenant on statuses using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table status_moves enable row level security;
alter table status_moves force row level security;
create policy of_tenant on status_moves using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$ begin
  execute format('grant select, insert, update, delete on statuses, status_moves to %I', current_setting('app.role'));
end $$;
