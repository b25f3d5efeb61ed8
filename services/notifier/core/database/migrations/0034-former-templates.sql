-- What a template said until it changed or left the catalogue: staff read a message as its recipient did.
create table former_templates (
  tenant_id text collate "C" not null,
  waba_id text collate "C" not null,
  name text collate "C" not null,
  language text collate "C" not null,
  -- When the list that shows the change was read.
  until timestamptz not null,
  parameter_format text collate "C" not null,
  components jsonb not null,
  constraint former_templates_pkey primary key (tenant_id, waba_id, name, language, until)
);
alter table former_templates enable row level security;
alter table former_templates force row level security;
create policy of_tenant on former_templates using (
  tenant_id = nullif(current_setting('app.tenant', true), '') or (select current_setting('app.all_tenants', true) = 'on'));

do $$ begin
  execute format('grant select, insert on former_templates to %I', current_setting('app.role'));
end $$;
