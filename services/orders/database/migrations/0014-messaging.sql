-- A company without messaging: none of its events are written to the outbox.
alter table tenants add column messaging boolean not null default true;

-- Since when the notifier refuses the tenant's events because it does not know the tenant, and when the log last said so.
alter table outbox_leases add column unknown_since timestamptz;
alter table outbox_leases add column warned_at timestamptz;
