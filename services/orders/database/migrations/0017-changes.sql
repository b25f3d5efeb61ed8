-- What happened to a merchant's orders, written in the transaction that made it true: one row for its part of a batch.
-- Nothing reads these in their order, since transactions commit in another one: they become rows of `changes`.
create table new_changes (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  -- Changes of one waybill keep this order: whoever makes them holds its row while this number is given.
  change_id bigint generated always as identity,
  type text collate "C" not null,
  waybill_numbers text[] not null,
  -- The status of each waybill, or the one of all.
  status_keys text[] not null,
  -- The names of what an edit changed.
  fields text[],
  actor text collate "C" not null,
  happened_at timestamptz not null default now(),
  constraint new_changes_pkey primary key (tenant_id, merchant_id, change_id),
  constraint new_changes_type_check check (type in ('order.created', 'order.status_changed', 'order.edited')),
  constraint new_changes_actor_check check (actor in ('merchant', 'staff', 'customer'))
);

-- The feed of each merchant. A row of n waybills has the positions from `position` on; they have no gaps.
create table changes (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  position bigint not null,
  type text collate "C" not null,
  waybill_numbers text[] not null,
  status_keys text[] not null,
  fields text[],
  actor text collate "C" not null,
  happened_at timestamptz not null,
  constraint changes_pkey primary key (tenant_id, merchant_id, position)
);
create index changes_by_age on changes (tenant_id, happened_at);

-- Whoever numbers a merchant's changes holds this row.
create table feeds (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  -- Positions of another epoch are of a database that was replaced by its backup.
  epoch uuid not null default gen_random_uuid(),
  last_position bigint not null default 0,
  -- Those up to here are no longer kept.
  deleted_position bigint not null default 0,
  constraint feeds_pkey primary key (tenant_id, merchant_id)
);

do $$
declare name text;
begin
  foreach name in array array['new_changes', 'changes', 'feeds'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
  end loop;
  -- The processes poll for whoever waits for changes.
  foreach name in array array['new_changes', 'feeds'] loop
    execute format(
      'create policy of_all_tenants on %I for select using (current_setting(''app.all_tenants'', true) = ''on'')', name);
  end loop;
  execute format('grant select, insert, delete on new_changes, changes to %I', current_setting('app.role'));
  execute format('grant select, insert, update on feeds to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
