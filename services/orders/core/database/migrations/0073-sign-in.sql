-- How people get in besides passwords that the operator sets (docs/operators/sign-in.md).

-- What the company file says about signing in, as JSON. null: nothing.
alter table tenants add column sign_in text;

-- One-time links by which a person sets a password.
create table invitations (
  tenant_id text collate "C" not null,
  -- SHA-256 of the code.
  hash bytea not null,
  -- One of both: a member of staff, or a person of a merchant.
  staff_id bigint,
  person_id bigint,
  -- True: the operator made it, for a person who cannot get in. It signs in once, even without a password.
  is_recovery boolean not null,
  made_by text not null,
  expires_at timestamptz not null,
  -- null: nobody used it.
  used_at timestamptz,
  constraint invitations_pkey primary key (tenant_id, hash)
);

create table second_factors (
  tenant_id text collate "C" not null,
  staff_id bigint not null,
  key_id text collate "C" not null,
  sealed_secret bytea not null,
  -- The number of the last 30 seconds whose code was used, counted from 1970: a code counts once.
  last_step bigint not null default 0,
  -- null: no code was entered yet.
  confirmed_at timestamptz,
  -- SHA-256 of the recovery codes that are left.
  recovery_hashes bytea[] not null,
  constraint second_factors_pkey primary key (tenant_id, staff_id)
);

-- Who a subject of an OpenID provider is.
create table provider_subjects (
  tenant_id text collate "C" not null,
  issuer text collate "C" not null,
  subject text collate "C" not null,
  -- `staff` or `merchants`: one subject may be a person of both.
  kind text collate "C" not null,
  staff_id bigint,
  person_id bigint,
  since timestamptz not null default now(),
  constraint provider_subjects_pkey primary key (tenant_id, issuer, subject, kind)
);

-- Sign-ins by a provider that are under way.
create table provider_sign_ins (
  tenant_id text collate "C" not null,
  -- SHA-256 of the state; once the provider sent the person back, of the code that the page redeems.
  hash bytea not null,
  provider text collate "C" not null,
  -- SHA-256 of what the page keeps: only the browser that began ends it.
  browser_hash bytea not null,
  verifier text not null,
  nonce text not null,
  -- The page that began, where it ends.
  page text not null,
  expires_at timestamptz not null,
  -- Who it was, once that is known.
  staff_id bigint,
  person_id bigint,
  constraint provider_sign_ins_pkey primary key (tenant_id, hash)
);

do $$
declare name text;
begin
  foreach name in array array['invitations', 'second_factors', 'provider_subjects', 'provider_sign_ins'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
    execute format('grant select, insert, update, delete on %I to %I', name, current_setting('app.role'));
  end loop;
end $$;
