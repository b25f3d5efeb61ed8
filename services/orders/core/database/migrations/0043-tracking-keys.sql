-- The keys that sign the links to the pages of a company's parcels: only its own sessions read them. The newest one
-- signs; links of the others stay valid until they are revoked. tenants.link_key is for processes of 0.2.0, and for
-- companies that they add: `tracking-keys rotate` leaves a value there that signs nothing. The next version drops it.
create table tracking_keys (
  tenant_id text collate "C" not null,
  -- 1, 2, 3 for each company.
  key_no integer not null,
  secret uuid not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  constraint tracking_keys_pkey primary key (tenant_id, key_no)
);
insert into tracking_keys (tenant_id, key_no, secret) select tenant_id, 1, link_key from tenants;

alter table tracking_keys enable row level security;
alter table tracking_keys force row level security;
create policy of_tenant on tracking_keys using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  execute format('grant select, insert, update (revoked_at) on tracking_keys to %I', current_setting('app.role'));
end $$;
