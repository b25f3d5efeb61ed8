-- What a bank statement has beside deposits and payments of merchants: tax that was remitted, fees, direct debits, and
-- cash that the bank counted otherwise (docs/money.md#the-bank). Nobody changes an entry that is approved.
create table bank_entries (
  tenant_id text collate "C" not null,
  entry_id bigint generated always as identity,
  kind text collate "C" not null constraint bank_entries_kind_check check (kind in ('tax_remitted',
    'withholding_remitted', 'bank_fee', 'direct_debit', 'cash_found', 'cash_written_off')),
  debit text collate "C" not null,
  credit text collate "C" not null,
  -- Below zero: from debit to credit.
  amount numeric not null constraint bank_entries_amount_check check (amount <> 0),
  bank_reference text,
  -- The reference of the tax office.
  office_reference text,
  reason text,
  made_by text not null,
  made_at timestamptz not null,
  -- waiting -> approved by a second person, or rejected; approved at once if one person may book it.
  state text collate "C" not null constraint bank_entries_state_check check (state in ('waiting', 'approved', 'rejected')),
  -- null: nobody had to decide.
  decided_by text,
  decided_at timestamptz,
  -- The journal of the entry; null: not approved.
  journal_id uuid,
  booked_on date,
  constraint bank_entries_pkey primary key (tenant_id, entry_id)
);
-- The ledger check and the seals of days read entries by day.
create index bank_entries_by_day on bank_entries (tenant_id, booked_on);

do $$
begin
  alter table bank_entries enable row level security;
  alter table bank_entries force row level security;
  create policy of_tenant on bank_entries using (tenant_id = nullif(current_setting('app.tenant', true), ''));
  execute format('grant select, insert, update (state, decided_by, decided_at, journal_id, booked_on) on bank_entries to %I',
    current_setting('app.role'));
  execute format('grant usage on sequence bank_entries_entry_id_seq to %I', current_setting('app.role'));
end $$;
