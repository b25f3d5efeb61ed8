-- When the API took the tenant's token for the number: a number is the tenant's that proved it, and others may only claim
-- it. The numbers that are there count as proven.
alter table channels add column proven_at timestamptz default now();
alter table channels alter column proven_at drop default;
-- When an unproven one is tried next, and how often it was.
alter table channels add column proof_due_at timestamptz not null default now();
alter table channels add column proof_tries integer not null default 0;

alter table channels drop constraint channels_phone_number_key;
create unique index channels_proven_number on channels (phone_number_id) where proven_at is not null;
create index channels_number on channels (phone_number_id);
create index channels_unproven on channels (proof_due_at) where proven_at is null;
