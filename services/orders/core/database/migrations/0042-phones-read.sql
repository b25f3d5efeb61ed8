-- The last order, by age, of which housekeeping has read the phone number; null: none yet. It stores those of earlier versions anew.
alter table tenants add column phones_read_at timestamptz, add column phones_read_waybill text collate "C";
