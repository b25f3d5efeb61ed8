-- A rate card prices a parcel by the zones of its two cities and its weight.
create table rate_cards (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  constraint rate_cards_pkey primary key (tenant_id, rate_card),
  constraint rate_cards_tenant_fkey foreign key (tenant_id) references tenants (tenant_id)
);

create table zones (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  zone text collate "C" not null,
  -- The zone of every city that no other zone of the card names.
  is_elsewhere boolean not null,
  constraint zones_pkey primary key (tenant_id, rate_card, zone),
  constraint zones_card_fkey foreign key (tenant_id, rate_card) references rate_cards (tenant_id, rate_card)
);

create table zone_cities (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  city_id integer not null,
  zone text collate "C" not null,
  constraint zone_cities_pkey primary key (tenant_id, rate_card, city_id),
  constraint zone_cities_city_fkey foreign key (tenant_id, city_id) references cities (tenant_id, city_id),
  constraint zone_cities_zone_fkey foreign key (tenant_id, rate_card, zone)
    references zones (tenant_id, rate_card, zone)
);

create table rates (
  tenant_id text collate "C" not null,
  rate_card text collate "C" not null,
  from_zone text collate "C" not null,
  to_zone text collate "C" not null,
  first_kg numeric(12, 2) not null,
  each_extra_kg numeric(12, 2) not null,
  constraint rates_pkey primary key (tenant_id, rate_card, from_zone, to_zone),
  constraint rates_from_fkey foreign key (tenant_id, rate_card, from_zone)
    references zones (tenant_id, rate_card, zone),
  constraint rates_to_fkey foreign key (tenant_id, rate_card, to_zone) references zones (tenant_id, rate_card, zone)
);

alter table rate_cards enable row level security;
alter table rate_cards force row level security;
create policy of_tenant on rate_cards using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table zones enable row level security;
alter table zones force row level security;
create policy of_tenant on zones using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table zone_cities enable row level security;
alter table zone_cities force row level security;
create policy of_tenant on zone_cities using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

alter table rates enable row level security;
alter table rates force row level security;
create policy of_tenant on rates using (tenant_id = (select nullif(current_setting('app.tenant', true), '')));

do $$ begin
  execute format(
    'grant select, insert, update, delete on rate_cards, zones, zone_cities, rates to %I', current_setting('app.role')
  );
end $$;
