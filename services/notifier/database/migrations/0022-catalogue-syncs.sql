-- When the catalogue of the channel's account is to be read again, and when that was last tried.
alter table channels add column catalogue_due_at timestamptz not null default now();
alter table channels add column catalogue_tried_at timestamptz;
