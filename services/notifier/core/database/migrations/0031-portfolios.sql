-- The messaging limit of a business portfolio, which its numbers share, also those of several tenants.
create table portfolios (
  portfolio_id text collate "C" not null,
  -- People whom messages outside an open window may reach in 24 hours; null: unlimited, or not known.
  max_people integer,
  -- Counts the rows of portfolio_people.
  used integer not null default 0,
  read_at timestamptz,
  constraint portfolios_pkey primary key (portfolio_id)
);
-- The people whom messages outside an open window reached last, within the last day; only of limited portfolios.
create table portfolio_people (
  portfolio_id text collate "C" not null,
  recipient text collate "C" not null,
  reached_at timestamptz not null default now(),
  constraint portfolio_people_pkey primary key (portfolio_id, recipient)
);
create index portfolio_people_reached on portfolio_people (portfolio_id, reached_at);
-- The line of the messages that wait for room. due_at repeats that of the message: another one means that the message
-- waits for something else by now.
create table portfolio_waiting (
  portfolio_id text collate "C" not null,
  tenant_id text collate "C" not null,
  message_id text collate "C" not null,
  is_marketing boolean not null,
  created_at timestamptz not null,
  due_at timestamptz,
  constraint portfolio_waiting_pkey primary key (portfolio_id, tenant_id, message_id)
);
alter table channels add column portfolio_id text collate "C",
  add column portfolio_due_at timestamptz not null default now();
do $$
declare
  name text;
begin
  foreach name in array array['portfolios', 'portfolio_people', 'portfolio_waiting'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (%s (select current_setting(''app.all_tenants'', true) = ''on''))', name,
      case name when 'portfolio_waiting' then 'tenant_id = nullif(current_setting(''app.tenant'', true), '''') or'
        else '' end);
    execute format('grant select, insert, update, delete on %I to %I', name, current_setting('app.role'));
  end loop;
end $$;
-- Its own row-level security limits the channels to those of the tenant.
create policy shown on portfolios for select using (
  portfolio_id in (select c.portfolio_id from channels c where c.tenant_id = nullif(current_setting('app.tenant', true), '')));
