-- The servers on whose history the services acknowledge writes: system identifier and timeline of each node
-- (docs/operators/failover.md). Has one row; the first process that connects names the servers.
create table history (
  is_only boolean not null default true,
  server text collate "C" not null default '',
  -- A process misses a write that it acknowledged.
  is_lost boolean not null default false,
  -- The services go on with a database whose state `restored` has repaired.
  restored_at timestamptz not null default now(),
  constraint history_pkey primary key (is_only),
  constraint history_is_only_check check (is_only)
);
insert into history default values;
-- Belongs to no tenant: every transaction reads it.
alter table history enable row level security;
alter table history force row level security;
create policy of_all on history using (true);
do $$ begin
  execute format('grant select, update (server, is_lost, restored_at) on history to %I', current_setting('app.role'));
end $$;
