-- Members of staff who log in. Their tokens are session tokens: staff_name is the person's name.
create table staff (
  tenant_id text collate "C" not null,
  staff_id bigint generated always as identity,
  email text collate "C" not null,
  name text not null,
  role text collate "C" not null,
  -- argon2id, with its parameters and salt.
  password_hash text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  constraint staff_pkey primary key (tenant_id, staff_id),
  constraint staff_email_key unique (tenant_id, email),
  constraint staff_name_key unique (tenant_id, name),
  constraint staff_role_check check (role in ('viewer', 'dispatcher', 'messenger', 'admin')),
  constraint staff_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

alter table staff enable row level security;
alter table staff force row level security;
create policy of_tenant on staff using (tenant_id = nullif(current_setting('app.tenant', true), ''));

alter table tokens add column staff_id bigint;
alter table tokens add constraint tokens_staff_fkey foreign key (tenant_id, staff_id) references staff (tenant_id, staff_id);
create index tokens_of_staff on tokens (tenant_id, staff_id) where from_login and revoked_at is null;

do $$ begin
  execute format('grant select, insert, update on staff to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
