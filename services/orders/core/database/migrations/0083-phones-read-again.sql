-- Makes housekeeping read all phone numbers again: a number behind a country code may have begun with the prefix of a call within
-- the country, as in +375 8 29 1234567. New columns, because row-level security hides the rows from an update.
alter table tenants drop column phones_read_at, drop column phones_read_waybill;
alter table tenants add column phones_read_at timestamptz, add column phones_read_waybill text collate "C";
