-- Makes housekeeping read all phone numbers again: customer_phone now holds the number itself also where a look-up by all of its
-- digits would miss the spelling (0041). New columns, because row-level security hides the rows from an update.
alter table tenants drop column phones_read_at, drop column phones_read_waybill;
alter table tenants add column phones_read_at timestamptz, add column phones_read_waybill text collate "C";
