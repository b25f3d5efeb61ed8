-- Counts how often in a row the tenant's events could not be delivered. After a failure nobody gets the lease until
-- the next attempt.
alter table outbox_leases add column failures int not null default 0;
