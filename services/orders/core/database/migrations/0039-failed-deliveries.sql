-- Failed deliveries (docs/staff/failed-deliveries.md).
alter table tenants
  -- JSON: [{"code": …, "name": …}]. null: the usual ones.
  add column failure_reasons text,
  add column instruction_hours integer not null default 48,
  add column instruction_default text collate "C" not null default 'reattempt',
  add column recipient_history boolean not null default false;

-- Each attempt to deliver that failed. Whoever writes one holds its order's row.
create table attempts (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  -- 1, 2, 3 for each parcel.
  attempt_no integer not null,
  -- Sorts lists, oldest first.
  attempt_id bigint generated always as identity,
  merchant_id bigint not null,
  reason_code text collate "C",
  failed_at timestamptz not null,
  due_at timestamptz not null,
  -- The parcel has not moved on.
  is_open boolean not null default true,
  -- The instruction that holds, and whose it is. null: nobody gave one.
  action text collate "C",
  on_date date,
  note text,
  given_as text collate "C",
  constraint attempts_pkey primary key (tenant_id, waybill_number, attempt_no)
);
create index open_attempts on attempts (tenant_id, attempt_id) where is_open;

-- Every instruction, also those that another one replaced.
create table instructions (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  instruction_no integer not null,
  attempt_no integer not null,
  action text collate "C" not null,
  on_date date,
  note text,
  given_as text collate "C" not null,
  -- null: the merchant, the customer or the company's default.
  given_by text,
  given_at timestamptz not null,
  constraint instructions_pkey primary key (tenant_id, waybill_number, instruction_no),
  constraint instructions_action_check check (action in ('reattempt', 'reschedule', 'return', 'change_address')),
  constraint instructions_given_as_check check (given_as in ('merchant', 'customer', 'staff', 'company'))
);

do $$
declare name text;
begin
  foreach name in array array['attempts', 'instructions'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
  end loop;
  execute format('grant select, insert, delete, update (reason_code, is_open, action, on_date, note, given_as) on attempts to %I',
    current_setting('app.role'));
  execute format('grant select, insert, delete on instructions to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
