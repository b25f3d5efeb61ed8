-- What people wrote to our numbers, each message once, for 90 days.
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

alter table inbound_messages enable row level security;
alter table inbound_messages force row level security;
create policy of_tenant on inbound_messages using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or (select current_setting('app.all_tenants', true) = 'on'));

do $$ begin
  execute format('grant select, insert, update (read_at), delete on inbound_messages to %I', current_setting('app.role'));
end $$;
