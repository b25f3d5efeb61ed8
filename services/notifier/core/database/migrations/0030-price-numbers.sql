-- The number that sent it: service messages are free up to a count for each number and month. null: priced by an earlier
-- release.
alter table message_prices add column phone_number_id text collate "C";
create index message_prices_service on message_prices (tenant_id, phone_number_id, priced_at) where category = 'service';
