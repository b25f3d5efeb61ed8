-- Who logs in for a merchant besides its account, which is an owner.
create table merchant_people (
  tenant_id text collate "C" not null,
  person_id bigint generated always as identity,
  merchant_id bigint not null,
  email text collate "C" not null,
  name text not null,
  role text collate "C" not null,
  -- argon2id, with its parameters and salt.
  password_hash text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  constraint merchant_people_pkey primary key (tenant_id, person_id),
  constraint merchant_people_role_check check (role in ('owner', 'clerk')),
  constraint merchant_people_merchant_fkey foreign key (tenant_id, merchant_id) references merchants (tenant_id, merchant_id)
);
-- An address is free again once its person is deactivated. Accounts of merchants have no such address (access/people.ts).
create unique index merchant_people_email on merchant_people (tenant_id, email) where is_active;
create index merchant_people_of_merchant on merchant_people (tenant_id, merchant_id);

alter table merchant_people enable row level security;
alter table merchant_people force row level security;
create policy of_tenant on merchant_people using (tenant_id = nullif(current_setting('app.tenant', true), ''));

-- The name of a merchant's program. null: the token of a login, or one that the operator made.
alter table tokens add column name text;
-- No foreign key: Citus takes one to a new table only once that is distributed.
alter table tokens add column person_id bigint;

do $$ begin
  execute format('grant select, insert, update (role, password_hash, is_active) on merchant_people to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
