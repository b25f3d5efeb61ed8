-- Who did what: operators, staff, merchants. Rows are only ever added.
create table audit (
  tenant_id text collate "C" not null,
  audit_id bigint generated always as identity,
  happened_at timestamptz not null default now(),
  -- operator: a user of the machine; staff: by name; merchant: by id.
  actor_kind text collate "C" not null,
  actor text not null,
  -- What they called with, or the token that a login made.
  token_id text collate "C",
  -- Such as token.created.
  action text collate "C" not null,
  object_id text,
  -- x-request-id of the call.
  request_id text collate "C",
  constraint audit_pkey primary key (tenant_id, audit_id),
  constraint audit_actor_kind_check check (actor_kind in ('operator', 'staff', 'merchant'))
);
create index audit_happened on audit (tenant_id, happened_at);

alter table audit enable row level security;
alter table audit force row level security;
create policy of_tenant on audit using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$ begin
  execute format('grant select, insert on audit to %I', current_setting('app.role'));
end $$;
