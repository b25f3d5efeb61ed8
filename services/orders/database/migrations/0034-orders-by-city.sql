-- Lists by city of delivery. Building it keeps bookings waiting: an operator may create it before, `concurrently`.
create index if not exists orders_by_city on orders (tenant_id, destination_city_id, created_at, waybill_number);
