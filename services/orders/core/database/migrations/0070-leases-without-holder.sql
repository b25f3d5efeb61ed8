-- Nobody holds a lease that waits after a failure.
alter table outbox_leases alter column holder drop not null;
