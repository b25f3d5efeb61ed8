-- What a merchant's fees were before a company file changed them: an order is charged what held when it was booked
-- (docs/money.md#what-a-parcel-costs). Empty at first.
create table former_terms (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  -- Orders that were booked before this moment have these terms, unless an earlier row ends after it, too.
  until timestamptz not null default clock_timestamp(),
  cod_fee_percent numeric(5, 2) not null,
  cod_fee_min numeric not null,
  return_fee numeric not null,
  each_return_kg numeric not null,
  constraint former_terms_pkey primary key (tenant_id, merchant_id, until)
);
alter table former_terms enable row level security;
alter table former_terms force row level security;
create policy of_tenant on former_terms using (tenant_id = nullif(current_setting('app.tenant', true), ''));
do $$
begin
  execute format('grant select, insert on former_terms to %I', current_setting('app.role'));
end $$;
