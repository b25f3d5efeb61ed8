-- Other names of cities (docs/merchants/places.md#aliases).
create table city_aliases (
  tenant_id text collate "C" not null,
  city_id integer not null,
  alias text collate "C" not null,
  constraint city_aliases_pkey primary key (tenant_id, city_id, alias),
  constraint city_aliases_city_fkey foreign key (tenant_id, city_id) references cities (tenant_id, city_id)
);

alter table city_aliases enable row level security;
alter table city_aliases force row level security;
create policy of_tenant on city_aliases using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  execute format('grant select, insert, update, delete on city_aliases to %I', current_setting('app.role'));
end $$;
