-- Of tariffs and the budget, such as USD.
alter table tenants add column currency text;

-- What a message costs from that day on, by the clocks of the tenant. '*' is any country without a tariff of its own.
create table tariffs (
  tenant_id text collate "C" not null,
  category text collate "C" not null,
  country text collate "C" not null,
  valid_from date not null,
  price numeric not null,
  constraint tariffs_pkey primary key (tenant_id, category, country, valid_from),
  constraint tariffs_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

-- Delivered messages that the platform reported pricing for, one row for each send, however often a webhook repeats it. It
-- outlives the archived message.
create table message_prices (
  tenant_id text collate "C" not null,
  message_id text collate "C" not null,
  provider_message_id text collate "C" not null,
  priced_at timestamptz not null,
  -- The platform's, in lower case: not always that of the template.
  category text collate "C" not null,
  -- Of the recipient's number; null: it has none.
  country text collate "C",
  is_free boolean not null,
  -- regular, free_customer_service, free_entry_point
  type text collate "C",
  template text collate "C" not null,
  -- null: sent by staff.
  merchant text collate "C",
  constraint message_prices_pkey primary key (tenant_id, message_id, provider_message_id)
);
-- Reports read it alone.
create index message_prices_at on message_prices (tenant_id, priced_at)
  include (category, country, is_free, template, merchant);

-- What a tenant wants to spend in a month at most, and how far it got, as last summed.
create table budgets (
  tenant_id text collate "C" not null,
  monthly numeric not null,
  warn_at_percent integer not null,
  checked_at timestamptz,
  -- Of what follows: its first day.
  month date,
  spent numeric,
  warned_at timestamptz,
  -- Marketing messages wait since then.
  paused_at timestamptz,
  constraint budgets_pkey primary key (tenant_id),
  constraint budgets_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

do $$
declare
  name text;
begin
  foreach name in array array['tariffs', 'message_prices', 'budgets']
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (
         tenant_id = nullif(current_setting(''app.tenant'', true), '''')
         or (select current_setting(''app.all_tenants'', true) = ''on''))', name);
    execute format('grant select, insert, update, delete on %I to %I', name, current_setting('app.role'));
  end loop;
end $$;

-- The merchant of the order that a rule made it for.
alter table messages add column merchant text collate "C";

-- The latest change of its category that the platform announced or made; category_at may lie ahead.
alter table templates add column category_from text;
alter table templates add column category_to text;
alter table templates add column category_at timestamptz;
alter table templates add column category_reported_at timestamptz;
-- A marketing template while the tenant's budget is used up.
alter table templates add column budget_paused_at timestamptz;

alter table rules add column pauses_on_category_change boolean not null default false;
-- Why it makes no messages until the rules are applied again.
alter table rules add column paused_reason text;
