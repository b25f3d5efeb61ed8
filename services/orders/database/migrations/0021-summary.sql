-- The lists of a merchant's orders; what a summary counts is read from the index alone. It takes the place of orders_of_merchant.
create index if not exists orders_summed on orders (tenant_id, merchant_id, created_at, waybill_number)
  include (business_id, status_key, destination_city_id, cod, first_attempt);
drop index orders_of_merchant;
