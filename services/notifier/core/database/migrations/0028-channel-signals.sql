-- When webhooks about a number last came, within half a minute. It stands beside the channel, whose row the queue locks.
create table channel_signals (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  -- An app secret of the number signed a webhook, even one without news of the number.
  signed_at timestamptz not null,
  status_at timestamptz,
  inbound_at timestamptz,
  constraint channel_signals_pkey primary key (tenant_id, phone_number_id)
);
alter table channel_signals enable row level security;
alter table channel_signals force row level security;
create policy of_tenant on channel_signals using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or (select current_setting('app.all_tenants', true) = 'on'));
do $$
begin
  execute format('grant select, insert, update on channel_signals to %I', current_setting('app.role'));
end $$;
