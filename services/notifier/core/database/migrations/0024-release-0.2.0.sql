-- Replaces the migrations of 0.2.0: 0001-notifier 0002-reported-times 0003-resending 0004-tenants-walled 0005-events
-- 0006-audit 0007-all-tenants 0008-proven-numbers 0009-restored 0010-traces 0011-message-lists 0012-opt-outs 0013-hours
-- 0014-components 0015-customer-actions 0016-costs 0019-sends 0020-held-templates 0021-sources 0022-catalogue-syncs
-- 0023-inbound-messages 0024-unread-of-person

-- A session sees the rows of the tenant named in app.tenant; work for all tenants, such as the queue and the webhooks,
-- sets app.all_tenants = 'on' for its transaction.
create table tenants (
  tenant_id text collate "C" not null,
  country text not null,
  -- An inbound message that is one of these words opts its sender out.
  stop_words text[] not null,
  start_words text[] not null,
  -- A message whose sending is in doubt is sent once more by itself after ten minutes.
  resends_unknown boolean not null,
  -- The database was restored from an older backup: events before this time may have made messages that were sent. null: it
  -- never was.
  in_doubt_before timestamptz,
  -- parcel_under_way: utility messages about a parcel that is under way go to people who opted out, too. null: none do.
  opt_out_exempt text,
  -- When rules' messages may be sent, as {08:00,20:00}, by the clocks of that time zone. null: always.
  send_between text[],
  time_zone text,
  -- Tariffs and the budget are in it, such as USD.
  currency text,
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
  -- When the API took the tenant's token for the number: a number is the tenant's that proved it, and others may only claim
  -- it.
  proven_at timestamptz,
  -- When an unproven one is tried next, and how often it was.
  proof_due_at timestamptz not null default now(),
  proof_tries integer not null default 0,
  -- When the catalogue of the channel's account is to be read again, and when that was last tried.
  catalogue_due_at timestamptz not null default now(),
  catalogue_tried_at timestamptz,
  constraint channels_pkey primary key (tenant_id, phone_number_id),
  constraint channels_tenant_fkey foreign key (tenant_id) references tenants (tenant_id),
  constraint channels_plan_check check (plan in ('free', 'paid')),
  constraint channels_state_check check (state in ('active', 'paused'))
);
create unique index channels_proven_number on channels (phone_number_id) where proven_at is not null;
create index channels_number on channels (phone_number_id);
create index channels_unproven on channels (proof_due_at) where proven_at is null;

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
  -- When its status was told, by the account's catalogue or by a webhook: an older report changes nothing.
  status_at timestamptz,
  -- The latest change of its category that the platform announced or made; category_at may lie ahead.
  category_from text,
  category_to text,
  category_at timestamptz,
  category_reported_at timestamptz,
  -- A marketing template while the tenant's budget is used up.
  budget_paused_at timestamptz,
  constraint templates_pkey primary key (tenant_id, waba_id, name, language)
);
-- The few that messages wait for: the queue looks at them with each claim.
create index templates_waiting on templates (tenant_id, waba_id) where held_at is not null or budget_paused_at is not null;

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
  -- The API's ids of earlier sends of a message that was sent again: a late report about one does not end the new send.
  former_ids text[] not null default '{}',
  -- When it was sent again by itself, after its first sending stayed in doubt: that happens once.
  resent_at timestamptz,
  -- The trace that it belongs to, as W3C's traceparent.
  traceparent text,
  -- By that choice of its tenant it goes to a person who opted out.
  is_exempt boolean not null default false,
  -- The event of the rule that made it.
  rule_event text collate "C",
  -- {between, timeZone}: it is sent within these hours alone.
  hours jsonb,
  -- Why it is not sent any more: a later event made it untrue. It may be in flight when that happens.
  superseded_by text,
  -- The merchant of the order that a rule made it for.
  merchant text collate "C",
  -- The content before the fields of its order are filled in; null: nothing of it comes from an order, or an earlier version made it.
  source jsonb,
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
-- Staff's lists of messages, newest first, among millions: without these a filter that few rows match reads all of the tenant's.
-- Every step of the queue would add to it: lists look for what is in the queue by the queue's own indexes.
create index messages_recipient on messages (tenant_id, recipient, message_id)
  where status in ('unknown', 'accepted', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'expired');
-- Statuses that few messages have, and that a message does not come to on its way.
create index messages_rare_status on messages (tenant_id, status, message_id)
  where status in ('unknown', 'failed', 'cancelled', 'expired');

create table message_events (
  tenant_id text collate "C" not null,
  message_id text collate "C" not null,
  event_id bigint generated always as identity,
  status text collate "C" not null,
  happened_at timestamptz not null default now(),
  detail text,
  constraint message_events_pkey primary key (tenant_id, message_id, event_id)
);
-- Messages that the messaging API accepted, by time: how many are sent in a minute.
create index message_events_accepted on message_events (tenant_id, happened_at) where status = 'accepted';

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
  -- A person's last wish counts, in whatever order the webhooks bring them.
  opted_in_at timestamptz,
  -- Marketing messages alone, by the platform's preference or by staff.
  marketing_out_at timestamptz,
  marketing_in_at timestamptz,
  constraint conversations_pkey primary key (tenant_id, phone_number_id, recipient)
);

-- Who opted out and in again, and how: one row for each, however often a webhook repeats it. Rows are only ever added.
create table opt_outs (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  recipient text collate "C" not null,
  -- all, or marketing messages alone.
  scope text collate "C" not null,
  change text collate "C" not null,
  at timestamptz not null,
  -- The audit names this id in place of the person.
  opt_out_id bigint generated always as identity,
  actor_kind text collate "C" not null,
  actor text not null,
  reason text,
  constraint opt_outs_pkey primary key (tenant_id, phone_number_id, recipient, scope, change, at),
  constraint opt_outs_scope_check check (scope in ('all', 'marketing')),
  constraint opt_outs_change_check check (change in ('out', 'in'))
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
  send_between text[],
  -- Rules by their event: messages of theirs that wait become untrue.
  supersedes text[] not null default '{}',
  expires_after_hours integer,
  -- Headers of other kinds than text, buttons and named parameters of its messages. `json` keeps the order of fields, by
  -- which `apply` sees what has changed.
  components json not null default '[]',
  -- In place of a template, whose name and language are then empty.
  text text,
  pauses_on_category_change boolean not null default false,
  -- Why it makes no messages until the rules are applied again.
  paused_reason text,
  constraint rules_pkey primary key (tenant_id, position),
  constraint rules_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

-- Events from orders, each id once, kept for 30 days to recognize a repetition.
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

-- Requests that customers make by the buttons of messages, with their outcomes by orders.
create table customer_actions (
  tenant_id text collate "C" not null,
  -- Names the message and its button, so that each button acts once; ` address` follows for the address that comes later.
  action_id text collate "C" not null,
  -- Gives the order in which those of a waybill are delivered.
  position bigint generated always as identity,
  message_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  -- E.164 digits without the plus.
  recipient text collate "C" not null,
  waybill_number text collate "C" not null,
  action text collate "C" not null,
  -- The customer's message: one that comes again is no further address.
  inbound_id text collate "C" not null,
  -- Until orders has responded.
  address text,
  happened_at timestamptz not null,
  created_at timestamptz not null default now(),
  -- Claimed, or put off after a failure, until then.
  due_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- null: orders has not responded yet.
  outcome text collate "C",
  -- When orders said that the address may be changed.
  asked_at timestamptz,
  -- Why it was refused. Set from the start where we refuse it.
  detail text,
  constraint customer_actions_pkey primary key (tenant_id, action_id)
);
create index customer_actions_due on customer_actions (due_at) where outcome is null;
create index customer_actions_waybill on customer_actions (tenant_id, waybill_number);
create index customer_actions_person on customer_actions (tenant_id, phone_number_id, recipient) where action = 'change_address';

-- The price of a message from that day on, by the clocks of the tenant. '*' is any country without a tariff of its own.
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
  -- The country of the recipient's number; null: it has none.
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

-- The most that a tenant wants to spend in a month, and the sum as last counted.
create table budgets (
  tenant_id text collate "C" not null,
  monthly numeric not null,
  warn_at_percent integer not null,
  checked_at timestamptz,
  -- The first day of the month that the columns below are about.
  month date,
  spent numeric,
  warned_at timestamptz,
  -- Marketing messages wait since then.
  paused_at timestamptz,
  constraint budgets_pkey primary key (tenant_id),
  constraint budgets_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

-- Messages that people wrote to our numbers, each once, kept for 90 days.
create table inbound_messages (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  -- The API's id.
  inbound_id text collate "C" not null,
  -- Orders messages of the same second.
  position bigint generated always as identity,
  -- E.164 digits without the plus, one spelling for each person.
  recipient text collate "C" not null,
  -- As the API names it: text, button, location, image.
  type text collate "C" not null,
  text text,
  -- By which the API has the file, for some weeks.
  media_id text,
  happened_at timestamptz not null,
  -- null: unread.
  read_at timestamptz,
  constraint inbound_messages_pkey primary key (tenant_id, phone_number_id, inbound_id)
);
create index inbound_messages_person on inbound_messages (tenant_id, recipient, phone_number_id, happened_at, position);
create index inbound_messages_newest on inbound_messages (tenant_id, happened_at, position);
create index inbound_messages_unread on inbound_messages (tenant_id, happened_at, position) where read_at is null;
-- Counts what is unread of a person, however much that person has written.
create index inbound_messages_unread_person
  on inbound_messages (tenant_id, recipient, phone_number_id, happened_at, position) where read_at is null;

-- Who did what: operators, staff, customers, the platform. Rows are only ever added.
create table audit (
  tenant_id text collate "C" not null,
  audit_id bigint generated always as identity,
  happened_at timestamptz not null default now(),
  -- operator: a user of the machine; staff: by name; customer: by a keyword or a button; platform: by a preference or an error.
  actor_kind text collate "C" not null,
  actor text not null,
  token_id text collate "C",
  -- Such as token.created.
  action text collate "C" not null,
  object_id text,
  -- x-request-id of the call.
  request_id text collate "C",
  constraint audit_pkey primary key (tenant_id, audit_id),
  constraint audit_actor_kind_check check (actor_kind in ('operator', 'staff', 'customer', 'platform'))
);
create index audit_happened on audit (tenant_id, happened_at);

-- The list of tenants is open to every session; each may change its own row alone.
alter table tenants enable row level security;
alter table tenants force row level security;
create policy listed on tenants for select using (true);
create policy added on tenants for insert
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')));
create policy changed on tenants for update using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$
declare
  name text;
  tenant text;
begin
  for name, tenant in
    select unnest(array['channels', 'secrets', 'registrations', 'templates', 'messages', 'message_events', 'recipients',
      'conversations', 'tokens', 'idempotency_keys', 'rules', 'events', 'audit']),
      '(select nullif(current_setting(''app.tenant'', true), ''''))'
    union all
    select unnest(array['opt_outs', 'customer_actions', 'tariffs', 'message_prices', 'budgets', 'inbound_messages']),
      'nullif(current_setting(''app.tenant'', true), '''')'
  loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (
         tenant_id = %s or (select current_setting(''app.all_tenants'', true) = ''on''))', name, tenant);
  end loop;
  execute format('grant usage on schema public to %I', current_setting('app.role'));
  execute format('grant select, insert, update on tenants to %I', current_setting('app.role'));
  -- Rows of these are only ever added.
  execute format('grant select, insert on message_events, registrations, audit, opt_outs to %I', current_setting('app.role'));
  execute format('grant select, insert, update (read_at), delete on inbound_messages to %I', current_setting('app.role'));
  execute format(
    'grant select, insert, update, delete on channels, secrets, templates, messages, recipients, conversations, tokens,
       idempotency_keys, rules, events, customer_actions, tariffs, message_prices, budgets to %I', current_setting('app.role'));
end $$;
