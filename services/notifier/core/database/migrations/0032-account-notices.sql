-- The last news of the platform about an account, by kind and by the number or template that it concerns.
create table account_notices (
  tenant_id text collate "C" not null,
  waba_id text collate "C" not null,
  kind text collate "C" not null,
  subject text collate "C" not null,
  is_problem boolean not null,
  text text not null,
  happened_at timestamptz not null,
  constraint account_notices_pkey primary key (tenant_id, waba_id, kind, subject)
);
alter table account_notices enable row level security;
alter table account_notices force row level security;
create policy of_tenant on account_notices using (
  tenant_id = nullif(current_setting('app.tenant', true), '')
  or (select current_setting('app.all_tenants', true) = 'on'));
do $$
begin
  execute format('grant select, insert, update, delete on account_notices to %I', current_setting('app.role'));
end $$;
