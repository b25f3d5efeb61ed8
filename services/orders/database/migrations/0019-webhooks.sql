-- Where merchants want to be told of changes. Which process sends to an endpoint now is its holder.
create table webhook_endpoints (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  merchant_id bigint not null,
  url text not null,
  events text[] not null,
  -- deleted: until its deliveries are.
  state text collate "C" not null default 'enabled',
  disabled_reason text collate "C",
  disabled_at timestamptz,
  -- Of the merchant's feed: the changes up to here are in webhook_deliveries or were not wanted.
  position bigint not null,
  -- Positions that are to be sent again: behind the first, up to the last.
  replay_after bigint,
  replay_to bigint,
  -- Since the last success.
  failures integer not null default 0,
  failing_since timestamptz,
  -- Nothing is sent before.
  retry_at timestamptz,
  key_id text collate "C" not null,
  sealed_secret bytea not null,
  -- Signs too until then.
  previous_key_id text collate "C",
  previous_secret bytea,
  previous_until timestamptz,
  holder uuid,
  held_until timestamptz,
  created_at timestamptz not null default now(),
  constraint webhook_endpoints_pkey primary key (tenant_id, endpoint_id),
  constraint webhook_endpoints_state_check check (state in ('enabled', 'disabled', 'deleted'))
);
create index webhook_endpoints_of_merchant on webhook_endpoints (tenant_id, merchant_id);

-- One event for one endpoint.
create table webhook_deliveries (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  position bigint not null,
  -- webhook-id
  message_id text collate "C" not null,
  type text collate "C" not null,
  waybill_number text collate "C" not null,
  body text not null,
  happened_at timestamptz not null,
  state text collate "C" not null default 'pending',
  attempts integer not null default 0,
  -- null while pending: an earlier event of the waybill comes first.
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  -- Of the last attempt.
  code integer,
  milliseconds integer,
  error text,
  response_body text,
  constraint webhook_deliveries_pkey primary key (tenant_id, endpoint_id, position),
  constraint webhook_deliveries_state_check check (state in ('pending', 'delivered', 'failed'))
);
create index webhook_deliveries_due on webhook_deliveries (tenant_id, endpoint_id, next_attempt_at) where state = 'pending';
create index webhook_deliveries_of_waybill on webhook_deliveries (tenant_id, endpoint_id, waybill_number, position)
  where state = 'pending';
create index webhook_deliveries_old on webhook_deliveries (tenant_id, happened_at) where state = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (tenant_id, endpoint_id, position) where state = 'failed';
create index webhook_deliveries_finished on webhook_deliveries (tenant_id, last_attempt_at) where state <> 'pending';

do $$
declare name text;
begin
  foreach name in array array['webhook_endpoints', 'webhook_deliveries'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
    execute format(
      'create policy of_all_tenants on %I for select using (current_setting(''app.all_tenants'', true) = ''on'')', name);
  end loop;
  execute format('grant select, insert, update, delete on webhook_endpoints, webhook_deliveries to %I', current_setting('app.role'));
end $$;
