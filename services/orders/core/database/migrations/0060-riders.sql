-- Parcels in riders' hands, and what riders did with them (docs/staff/riders.md).
alter table staff drop constraint staff_role_check;
alter table staff add constraint staff_role_check
  check (role in ('viewer', 'dispatcher', 'messenger', 'accounts', 'admin', 'rider'));
-- JSON: which proof deliveries and failures need. null: none.
alter table tenants add column proof_rules text;

-- Who has which parcel; housekeeping deletes rows of parcels that ended long ago. Whoever writes a row holds its order.
create table rider_parcels (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  rider_id bigint not null,
  -- Sorts the rider's list; null: after the others.
  position integer,
  assigned_at timestamptz not null,
  assigned_by text not null,
  constraint rider_parcels_pkey primary key (tenant_id, waybill_number)
);
create index rider_parcels_of_rider on rider_parcels (tenant_id, rider_id);

-- Each time a parcel got another rider, or none.
create table rider_changes (
  tenant_id text collate "C" not null,
  change_id bigint generated always as identity,
  waybill_number text collate "C" not null,
  -- null: nobody.
  rider_id bigint,
  former_id bigint,
  changed_at timestamptz not null,
  changed_by text not null,
  constraint rider_changes_pkey primary key (tenant_id, change_id)
);
create index rider_changes_of_parcel on rider_changes (tenant_id, waybill_number);

-- What phones of riders sent, each act once. The id is the phone's.
create table rider_acts (
  tenant_id text collate "C" not null,
  rider_id bigint not null,
  act_id text collate "C" not null,
  act_no bigint generated always as identity,
  waybill_number text collate "C" not null,
  kind text collate "C" not null,
  -- SHA-256 of the act as it came.
  fingerprint bytea not null,
  -- The fields of the kind, without proofs.
  fields jsonb not null,
  -- By the clock of the phone.
  happened_at timestamptz not null,
  received_at timestamptz not null,
  -- Why it was refused. null: it was done.
  code text collate "C",
  message text,
  -- applied, dismissed or dropped. null with a code: it waits for a decision.
  decision text collate "C",
  decided_at timestamptz,
  decided_by text,
  decision_note text,
  constraint rider_acts_pkey primary key (tenant_id, rider_id, act_id)
);
create unique index rider_acts_by_number on rider_acts (tenant_id, act_no);
create index rider_acts_of_parcel on rider_acts (tenant_id, waybill_number);
create index rider_acts_refused on rider_acts (tenant_id, act_no) where code is not null and decision is null;

-- Proofs of deliveries and failures: images, checked codes, or the reason why one is missing.
create table proofs (
  tenant_id text collate "C" not null,
  proof_id bigint generated always as identity,
  waybill_number text collate "C" not null,
  act_no bigint not null,
  -- photo, signature, code or none.
  kind text collate "C" not null,
  taken_at timestamptz not null,
  type text collate "C",
  -- Without metadata.
  bytes bytea,
  reason text,
  constraint proofs_pkey primary key (tenant_id, proof_id)
);
create index proofs_of_parcel on proofs (tenant_id, waybill_number);
create index proofs_of_act on proofs (tenant_id, act_no);

-- One-time links by which a phone signs in.
create table sign_in_links (
  tenant_id text collate "C" not null,
  -- SHA-256 of the code.
  hash bytea not null,
  staff_id bigint not null,
  made_by text not null,
  expires_at timestamptz not null,
  -- null: nobody used it.
  token_id text collate "C",
  device text,
  constraint sign_in_links_pkey primary key (tenant_id, hash)
);

do $$
declare name text;
begin
  foreach name in array array['rider_parcels', 'rider_changes', 'rider_acts', 'proofs', 'sign_in_links'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
  end loop;
  execute format('grant select, insert, delete, update (rider_id, position, assigned_at, assigned_by) on rider_parcels to %I',
    current_setting('app.role'));
  execute format('grant select, insert on rider_changes to %I', current_setting('app.role'));
  execute format('grant select, insert, update (decision, decided_at, decided_by, decision_note) on rider_acts to %I',
    current_setting('app.role'));
  execute format('grant select, insert, delete on proofs to %I', current_setting('app.role'));
  execute format('grant select, insert, delete, update (token_id, device) on sign_in_links to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
