-- The failures in a row of a tenant's events. After a failure the lease is nobody's until the next attempt.
alter table outbox_leases add column failures int not null default 0;
