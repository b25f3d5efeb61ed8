-- A session sees the rows of the tenant named in app.tenant; the queue and the webhooks, which work for all tenants,
-- name '*'. No tenant can be called that.
create table tenants (
  tenant_id text collate "C" not null,
  country text not null,
  -- An inbound message that is one of these words opts its sender out.
  stop_words text[] not null,
  start_words text[] not null,
  -- A message whose sending is in doubt is sent once more by itself after ten minutes.
  resends_unknown boolean not null,
  constraint tenants_pkey primary key (tenant_id)
);

-- A number that messages are sent from.
create table channels (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  name text not null,
  plan text not null,
  is_default boolean not null,
  waba_id text,
  verify_token_hash bytea not null,
  state text not null default 'active',
  paused_reason text,
  -- The codes of the failure that paused it, for whoever resumes it.
  paused_code integer,
  registered_at timestamptz,
  checked_at timestamptz,
  -- Messages per second that the number may send, and how many it may still send of the current stretch.
  rate double precision not null,
  budget double precision not null default 0,
  budget_at timestamptz not null default now(),
  -- While the API asks for less: the lowered rate, since when, and no send at all before.
  slowed_rate double precision,
  slowed_at timestamptz,
  not_before timestamptz,
  served_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  constraint channels_pkey primary key (tenant_id, phone_number_id),
  constraint channels_phone_number_key unique (phone_number_id),
  constraint channels_tenant_fkey foreign key (tenant_id) references tenants (tenant_id),
  constraint channels_plan_check check (plan in ('free', 'paid')),
  constraint channels_state_check check (state in ('active', 'paused'))
);

-- Encrypted secrets of a channel. `next` is the newer one of a rotation, kept beside `current` until it has worked.
create table secrets (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  kind text collate "C" not null,
  slot text collate "C" not null,
  key_id text not null,
  sealed bytea not null,
  last4 text not null,
  created_at timestamptz not null default now(),
  constraint secrets_pkey primary key (tenant_id, phone_number_id, kind, slot),
  constraint secrets_channel_fkey foreign key (tenant_id, phone_number_id)
    references channels (tenant_id, phone_number_id),
  constraint secrets_kind_check check (kind in ('access_token', 'app_secret', 'pin')),
  constraint secrets_slot_check check (slot in ('current', 'next'))
);

-- Calls of register: the API allows ten in 72 hours, and counts the refused ones.
create table registrations (
  tenant_id text collate "C" not null,
  registration_id bigint generated always as identity,
  phone_number_id text collate "C" not null,
  called_at timestamptz not null default now(),
  constraint registrations_pkey primary key (tenant_id, registration_id),
  constraint registrations_channel_fkey foreign key (tenant_id, phone_number_id)
    references channels (tenant_id, phone_number_id)
);

-- The catalogue of an account as last seen.
create table templates (
  tenant_id text collate "C" not null,
  waba_id text collate "C" not null,
  name text collate "C" not null,
  language text collate "C" not null,
  template_id text collate "C",
  status text collate "C" not null,
  category text,
  parameter_format text collate "C" not null,
  components jsonb not null,
  -- The API refused it: no message with it leaves until the catalogue says that it is approved again.
  held_at timestamptz,
  held_code integer,
  synced_at timestamptz not null default now(),
  constraint templates_pkey primary key (tenant_id, waba_id, name, language)
);

-- The queue is this table.
create table messages (
  tenant_id text collate "C" not null,
  message_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  -- E.164 digits without the plus.
  recipient text collate "C" not null,
  template jsonb not null,
  waybill_number text collate "C",
  status text collate "C" not null,
  provider_message_id text collate "C",
  error_code integer,
  error_meaning text,
  -- Sends that failed; waiting for a budget or a paused channel does not count.
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  send_at timestamptz,
  -- On plan free: waits for the customer to write instead of failing.
  holds_until_open boolean not null default false,
  -- When it is looked at next. queued: it is sent then; a claim moves it on, so that a dead worker's claim ends by
  -- itself. sending: its answer is overdue then. unknown: waiting for a webhook ends then. held: it expires then.
  due_at timestamptz not null,
  expires_at timestamptz not null,
  -- The recipient's place in time was reserved: `due_at` is it.
  is_paced boolean not null default false,
  -- Grows with every claim: a worker whose fence is no longer the row's has lost the message.
  fence bigint not null default 0,
  status_at timestamptz not null default now(),
  constraint messages_pkey primary key (tenant_id, message_id),
  constraint messages_channel_fkey foreign key (tenant_id, phone_number_id)
    references channels (tenant_id, phone_number_id),
  constraint messages_status_check check (status in ('queued', 'held', 'sending', 'accepted', 'sent', 'delivered',
    'read', 'failed', 'unknown', 'cancelled', 'expired'))
);
create index messages_due on messages (tenant_id, phone_number_id, due_at) where status = 'queued';
create index messages_watched on messages (due_at) where status in ('sending', 'unknown');
create index messages_expiring on messages (expires_at) where status in ('queued', 'held');
create index messages_held on messages (tenant_id, phone_number_id, recipient) where status = 'held';
create index messages_provider on messages (tenant_id, provider_message_id) where provider_message_id is not null;
create index messages_waybill on messages (tenant_id, waybill_number) where waybill_number is not null;

create table message_events (
  tenant_id text collate "C" not null,
  message_id text collate "C" not null,
  event_id bigint generated always as identity,
  status text collate "C" not null,
  happened_at timestamptz not null default now(),
  detail text,
  constraint message_events_pkey primary key (tenant_id, message_id, event_id)
);

-- When a recipient may be written to next.
create table recipients (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  recipient text collate "C" not null,
  next_send_at timestamptz not null,
  constraint recipients_pkey primary key (tenant_id, phone_number_id, recipient)
);

create table conversations (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  recipient text collate "C" not null,
  last_inbound_at timestamptz,
  opted_out_at timestamptz,
  constraint conversations_pkey primary key (tenant_id, phone_number_id, recipient)
);

create table tokens (
  tenant_id text collate "C" not null,
  token_id text collate "C" not null,
  -- SHA-256 of the token: the token itself is shown once and kept nowhere.
  hash bytea not null,
  staff_name text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Within a minute.
  last_used_at timestamptz,
  constraint tokens_pkey primary key (tenant_id, token_id),
  constraint tokens_hash_key unique (tenant_id, hash),
  constraint tokens_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

create table idempotency_keys (
  tenant_id text collate "C" not null,
  -- The call.
  scope text collate "C" not null,
  idempotency_key text collate "C" not null,
  fingerprint bytea not null,
  -- The ids of the messages.
  result text[] not null,
  created_at timestamptz not null default now(),
  constraint idempotency_keys_pkey primary key (tenant_id, scope, idempotency_key)
);
create index idempotency_keys_age on idempotency_keys (tenant_id, created_at);

do $$
declare
  name text;
begin
  foreach name in array array['channels', 'secrets', 'registrations', 'templates', 'messages', 'message_events',
    'recipients', 'conversations', 'tokens', 'idempotency_keys']
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (
         tenant_id = (select nullif(current_setting(''app.tenant'', true), ''''))
         or (select current_setting(''app.tenant'', true)) = ''*'')', name);
    execute format('grant select, insert, update, delete on %I to %I', name, current_setting('app.role'));
  end loop;
  execute format('grant usage on schema public to %I', current_setting('app.role'));
  execute format('grant select, insert, update on tenants to %I', current_setting('app.role'));
  execute format('revoke update, delete on message_events, registrations from %I', current_setting('app.role'));
end $$;
