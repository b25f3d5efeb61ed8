-- What becomes of what looks wrong but is legal: null is a warning.
alter table tenants add column phone_check text;
alter table tenants add column duplicate_check text;
alter table tenants add column unusual_check text;
alter table tenants add constraint tenants_phone_check_check check (phone_check in ('refuse', 'warn', 'off'));
alter table tenants add constraint tenants_duplicate_check_check check (duplicate_check in ('refuse', 'warn', 'off'));
alter table tenants add constraint tenants_unusual_check_check check (unusual_check in ('refuse', 'warn', 'off'));

-- The warnings of the response that is repeated, as JSON; null when there were none.
alter table idempotency_keys add column warnings text;
do $$
begin
  execute format('grant update (warnings) on idempotency_keys to %I', current_setting('app.role'));
end $$;

-- Orders that look alike are looked for among the newest of a phone or an order number.
drop index orders_by_phone;
create index orders_by_phone on orders (tenant_id, phone_key, created_at);
drop index orders_by_order_no;
create index orders_by_order_no on orders (tenant_id, order_no, created_at) where order_no is not null;
