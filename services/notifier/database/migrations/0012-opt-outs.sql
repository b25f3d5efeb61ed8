-- Marketing messages alone: as opted_out_at and opted_in_at, by the platform's preference or by staff.
alter table conversations add column marketing_out_at timestamptz;
alter table conversations add column marketing_in_at timestamptz;

-- parcel_under_way: utility messages about a parcel that is under way go to people who opted out, too. null: none do.
alter table tenants add column opt_out_exempt text;

-- By that choice of its tenant it goes to a person who opted out.
alter table messages add column is_exempt boolean not null default false;

-- Who opted out and in again, and how: one row for each, however often a webhook repeats it. Rows are only ever added.
create table opt_outs (
  tenant_id text collate "C" not null,
  phone_number_id text collate "C" not null,
  recipient text collate "C" not null,
  -- all, or marketing messages alone.
  scope text collate "C" not null,
  change text collate "C" not null,
  at timestamptz not null,
  -- What the audit names in place of the person.
  opt_out_id bigint generated always as identity,
  actor_kind text collate "C" not null,
  actor text not null,
  reason text,
  constraint opt_outs_pkey primary key (tenant_id, phone_number_id, recipient, scope, change, at),
  constraint opt_outs_scope_check check (scope in ('all', 'marketing')),
  constraint opt_outs_change_check check (change in ('out', 'in'))
);

alter table opt_outs enable row level security;
alter table opt_outs force row level security;
create policy of_tenant on opt_outs using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or (select current_setting('app.all_tenants', true) = 'on'));

do $$ begin
  execute format('grant select, insert on opt_outs to %I', current_setting('app.role'));
end $$;

-- A customer, by a keyword or a button; the platform, by a preference or an error.
alter table audit drop constraint audit_actor_kind_check;
alter table audit add constraint audit_actor_kind_check
  check (actor_kind in ('operator', 'staff', 'customer', 'platform')) not valid;
