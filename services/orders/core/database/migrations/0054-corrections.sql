-- Corrections of the books (docs/money.md#corrections): entries that two people made, and that nobody changes.
-- The most that a merchant gets for a lost parcel; null: no limit.
alter table tenants add column compensation_max numeric;

-- A line that corrects a merchant's account, not a parcel's, has an empty waybill number.
alter table money_lines drop constraint money_lines_kind_check;
alter table money_lines add constraint money_lines_kind_check check (kind in ('delivered', 'returned', 'delivery_reversed',
  'return_reversed', 'handed_over', 'disputed', 'released', 'compensated',
  'compensation', 'collection', 'write_off', 'payment_received', 'opening_balance')) not valid;

create table corrections (
  tenant_id text collate "C" not null,
  correction_id bigint generated always as identity,
  -- Also the kind of its line; a returned transfer has none.
  kind text collate "C" not null constraint corrections_kind_check check (kind in ('compensation', 'collection', 'write_off',
    'payment_received', 'opening_balance', 'returned_transfer')),
  merchant_id bigint not null,
  waybill_number text collate "C",
  -- Added to what the merchant is owed.
  amount numeric not null constraint corrections_amount_check check (amount <> 0),
  reason text not null,
  bank_reference text,
  made_by text not null,
  made_at timestamptz not null,
  -- waiting -> approved by a second person, or rejected.
  state text collate "C" not null default 'waiting'
    constraint corrections_state_check check (state in ('waiting', 'approved', 'rejected')),
  decided_by text,
  decided_at timestamptz,
  -- The journal of its line or entry; null: not approved.
  journal_id uuid,
  booked_on date,
  -- The payment that a returned transfer takes back, as the invoice had it: the invoice is paid again later.
  invoice_id uuid,
  payment_journal_id uuid,
  payment_booked_on date,
  payment_reference text,
  payment_paid_on date,
  constraint corrections_pkey primary key (tenant_id, correction_id)
);
create index corrections_waiting on corrections (tenant_id, correction_id) where state = 'waiting';

do $$
begin
  alter table corrections enable row level security;
  alter table corrections force row level security;
  create policy of_tenant on corrections using (tenant_id = nullif(current_setting('app.tenant', true), ''));
  execute format('grant select, insert, update (state, decided_by, decided_at, journal_id, booked_on) on corrections to %I',
    current_setting('app.role'));
  execute format('grant usage on sequence corrections_correction_id_seq to %I', current_setting('app.role'));
end $$;
