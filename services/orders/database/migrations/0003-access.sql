-- Who may call: merchants with their businesses, and the bearer tokens of merchants and staff.
create table merchants (
  tenant_id text collate "C" not null,
  merchant_id bigint generated always as identity,
  email text collate "C" not null,
  name text not null,
  -- argon2id, with its parameters and salt.
  password_hash text not null,
  rate_card text collate "C",
  constraint merchants_pkey primary key (tenant_id, merchant_id),
  constraint merchants_email_key unique (tenant_id, email),
  constraint merchants_tenant_fkey foreign key (tenant_id) references tenants (tenant_id),
  constraint merchants_card_fkey foreign key (tenant_id, rate_card) references rate_cards (tenant_id, rate_card)
);

create table businesses (
  tenant_id text collate "C" not null,
  business_id integer not null,
  merchant_id bigint not null,
  name text not null,
  is_default boolean not null,
  is_active boolean not null,
  constraint businesses_pkey primary key (tenant_id, business_id),
  constraint businesses_merchant_fkey foreign key (tenant_id, merchant_id)
    references merchants (tenant_id, merchant_id)
);

create table tokens (
  tenant_id text collate "C" not null,
  token_id text collate "C" not null,
  -- SHA-256 of the token: the token itself is shown once and kept nowhere.
  hash bytea not null,
  merchant_id bigint,
  staff_name text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- Within a minute.
  last_used_at timestamptz,
  constraint tokens_pkey primary key (tenant_id, token_id),
  constraint tokens_hash_key unique (tenant_id, hash),
  constraint tokens_holder_check check ((merchant_id is null) <> (staff_name is null)),
  constraint tokens_tenant_fkey foreign key (tenant_id) references tenants (tenant_id),
  constraint tokens_merchant_fkey foreign key (tenant_id, merchant_id) references merchants (tenant_id, merchant_id)
);

alter table merchants enable row level security;
alter table merchants force row level security;
create policy of_tenant on merchants using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table businesses enable row level security;
alter table businesses force row level security;
create policy of_tenant on businesses using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table tokens enable row level security;
alter table tokens force row level security;
create policy of_tenant on tokens using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$ begin
  execute format('grant select, insert, update on merchants, businesses, tokens to %I', current_setting('app.role'));
end $$;
