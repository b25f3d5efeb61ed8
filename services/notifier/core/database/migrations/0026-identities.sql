-- Knows people by the messaging API's user ids: each id leads to the one recipient by which all other tables know the
-- person, which is the phone number as soon as a pair is known, else the id.
create table identities (
  tenant_id text collate "C" not null,
  user_id text collate "C" not null,
  recipient text collate "C" not null,
  username text,
  -- Within a day.
  seen_at timestamptz not null default now(),
  constraint identities_pkey primary key (tenant_id, user_id)
);
create index identities_recipient on identities (tenant_id, recipient);

alter table identities enable row level security;
alter table identities force row level security;
create policy of_tenant on identities using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or (select current_setting('app.all_tenants', true) = 'on'));

do $$
begin
  execute format('grant select, insert, update, delete on identities to %I', current_setting('app.role'));
end $$;
