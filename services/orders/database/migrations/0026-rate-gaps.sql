-- Combinations of cities that merchants asked for and their rate cards lack, by the day of the tenant; kept for 90 days.
create table rate_gaps (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  day date not null,
  origin_city_id integer not null,
  destination_city_id integer not null,
  -- Parcels.
  asked_for bigint not null,
  last_at timestamptz not null,
  constraint rate_gaps_pkey primary key (tenant_id, merchant_id, day, origin_city_id, destination_city_id)
);
create index rate_gaps_by_day on rate_gaps (tenant_id, day);
alter table rate_gaps enable row level security;
alter table rate_gaps force row level security;
create policy of_tenant on rate_gaps using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  execute format('grant select, insert, update, delete on rate_gaps to %I', current_setting('app.role'));
end $$;
