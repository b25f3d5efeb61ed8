-- Which event makes which message, in the order of the tenant's file.
create table rules (
  tenant_id text collate "C" not null,
  position integer not null,
  -- order.created, order.status_changed, or the key of a status that an order comes to.
  event text collate "C" not null,
  template text collate "C" not null,
  language text collate "C" not null,
  -- The parameters' texts, with fields of the order as {{customer_name}}.
  header text[] not null,
  body text[] not null,
  phone_number_id text collate "C",
  holds_until_open boolean not null,
  constraint rules_pkey primary key (tenant_id, position),
  constraint rules_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

-- What orders told, each id once; kept for 30 days, so that a repetition is known.
create table events (
  tenant_id text collate "C" not null,
  event_id text collate "C" not null,
  type text collate "C" not null,
  waybill_number text collate "C" not null,
  status_key text collate "C" not null,
  happened_at timestamptz not null,
  taken_at timestamptz not null default now(),
  -- The messages that could not even be made, [{template, detail}]: nobody or no number to send them to or from.
  faults jsonb,
  constraint events_pkey primary key (tenant_id, event_id)
);
create index events_age on events (tenant_id, taken_at);
create index events_with_faults on events (tenant_id, waybill_number) where faults is not null;

do $$
declare
  name text;
begin
  foreach name in array array['rules', 'events']
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (
         tenant_id = (select nullif(current_setting(''app.tenant'', true), ''''))
         or (select current_setting(''app.tenant'', true)) = ''*'')', name);
    execute format('grant select, insert, update, delete on %I to %I', name, current_setting('app.role'));
  end loop;
end $$;
