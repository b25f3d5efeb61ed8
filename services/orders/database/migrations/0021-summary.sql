-- The index of a merchant's lists, with what a summary adds up: it reads nothing else.
create index if not exists orders_summed on orders (tenant_id, merchant_id, created_at, waybill_number)
  include (business_id, status_key, destination_city_id, cod, first_attempt);
