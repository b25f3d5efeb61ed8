-- The database was restored from an older backup: events before this time may have made messages that were sent. null: it
-- never was.
alter table tenants add column in_doubt_before timestamptz;
