-- What customers ask for by the buttons of messages, and what orders makes of it.
create table customer_actions (
  tenant_id text collate "C" not null,
  -- Of the message and its button, so that each button acts once; with ` address` behind it for the address that follows.
  action_id text collate "C" not null,
  -- Gives the order in which those of a waybill are delivered.
  position bigint generated always as identity,
  message_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  -- E.164 digits without the plus.
  recipient text collate "C" not null,
  waybill_number text collate "C" not null,
  action text collate "C" not null,
  -- Of the customer's message: one that comes again is no further address.
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

alter table customer_actions enable row level security;
alter table customer_actions force row level security;
create policy of_tenant on customer_actions using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or (select current_setting('app.all_tenants', true) = 'on'));

do $$ begin
  execute format('grant select, insert, update, delete on customer_actions to %I', current_setting('app.role'));
end $$;

-- In place of a template, whose name and language are then empty.
alter table rules add column text text;
