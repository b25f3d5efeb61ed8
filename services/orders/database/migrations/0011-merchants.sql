-- A merchant that is not active has no valid token and cannot log in; its orders stay.
alter table merchants add column is_active boolean not null default true;

-- Merchants' programs know a zone by a number: it is the tenant's own, and stays as long as the zone does.
alter table zones add column zone_id integer not null default 0;
alter table zones no force row level security;
update zones set zone_id = numbered.zone_id
from (
  select tenant_id, rate_card, zone, row_number() over (partition by tenant_id order by rate_card, zone) as zone_id
  from zones
) as numbered
where numbered.tenant_id = zones.tenant_id and numbered.rate_card = zones.rate_card and numbered.zone = zones.zone;
alter table zones force row level security;

alter table statuses add column created_at timestamptz not null default now();
