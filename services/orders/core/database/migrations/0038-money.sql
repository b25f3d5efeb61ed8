-- Money (docs/money.md). Amounts are in the tenant's currency.
alter table tenants
  -- On the charges of a parcel.
  add column tax_percent numeric(5, 2) not null default 0,
  -- Withheld from what recipients paid, for the tax office.
  add column withholding_percent numeric(5, 2) not null default 0,
  -- When the COD of a parcel may be paid out: at delivery, once the rider handed the cash over, or once it is in the bank.
  add column payable_when text collate "C" not null default 'handed_over',
  -- Days from the delivery to the day from which an invoice takes the parcel.
  add column payable_after_days integer not null default 0,
  -- Whoever approves an invoice must not be the one who submitted it.
  add column four_eyes boolean not null default false,
  -- Days after which a submitted invoice counts as approved.
  add column accept_after_days integer not null default 3,
  -- Masks: # is a digit of the number; YYYY, YY, MM and DD are parts of the day.
  add column invoice_ref_mask text not null default 'MI-####',
  add column invoice_mask text not null default 'CFX-YY-MM-#####',
  -- The cash of a person above which GET /cash warns.
  add column cash_ceiling numeric(16, 2);
alter table tenants add constraint tenants_payable_when_check check (payable_when in ('delivered', 'handed_over', 'banked'));
alter table rate_cards
  add column cod_fee_percent numeric(5, 2) not null default 0,
  add column cod_fee_min numeric(12, 2) not null default 0,
  add column return_fee numeric(12, 2) not null default 0,
  add column each_return_kg numeric(12, 2) not null default 0;
-- The booking that a move to the status makes. null: the one that its key has by default.
alter table statuses add column books text collate "C"
  constraint statuses_books_check check (books in ('delivery', 'partial_delivery', 'return', 'nothing'));
alter table merchants
  -- null: as the tenant.
  add column payable_when text collate "C",
  add column payable_after_days integer,
  -- Invoices pay the COD in full; charges are paid by the merchant.
  add column charges_apart boolean not null default false,
  -- Who gets a message when the merchant is paid. null: nobody.
  add column phone text;
alter table merchants
  add constraint merchants_payable_when_check check (payable_when in ('delivered', 'handed_over', 'banked'));

alter table staff drop constraint staff_role_check;
alter table staff add constraint staff_role_check check (role in ('viewer', 'dispatcher', 'messenger', 'accounts', 'admin'));

-- The lines of each parcel. `cod` is owed to the merchant, the others by it.
create table money_lines (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  -- Numbered from 1 under the order's lock.
  line_no integer not null,
  journal_id uuid not null,
  merchant_id bigint not null,
  kind text collate "C" not null constraint money_lines_kind_check check (kind in ('delivered', 'returned', 'delivery_reversed',
    'return_reversed', 'handed_over', 'disputed', 'released', 'compensated')),
  -- The amount that the recipient paid.
  cod numeric(16, 2) not null default 0,
  delivery numeric(16, 2) not null default 0,
  cod_fee numeric(16, 2) not null default 0,
  return_fee numeric(16, 2) not null default 0,
  tax numeric(16, 2) not null default 0,
  withholding numeric(16, 2) not null default 0,
  method text collate "C" constraint money_lines_method_check check (method in ('cash', 'card', 'qr', 'transfer')),
  -- Where `cod` lies: rider:NAME or clearing.
  cash_account text,
  booked_on date not null,
  reason text,
  staff_name text,
  -- The line of the same parcel that this one reverses, disputes or releases.
  refers_to integer,
  -- Owed to the merchant for a lost parcel.
  compensation numeric(16, 2) not null default 0,
  -- Owed to the merchant after a dispute; below zero it owes.
  adjustment numeric(16, 2) not null default 0,
  -- Taken from what the merchant is owed while it disputes the line; below zero it is given back.
  held numeric(16, 2) not null default 0,
  -- Cash that the rider gave to the office.
  handed numeric(16, 2) not null default 0,
  -- The live invoice that has the line; null: none.
  invoice_id uuid,
  -- The deposit that took what was collected to the bank.
  banked_by uuid,
  constraint money_lines_pkey primary key (tenant_id, waybill_number, line_no)
);
-- Lines that a next invoice may take, or whose money is not at the bank: two indexes would cost a move twice.
create index money_lines_open on money_lines (tenant_id, merchant_id, cash_account)
  where (invoice_id is null and kind <> 'handed_over') or (banked_by is null and kind = 'delivered' and cod > 0);
create index money_lines_by_invoice on money_lines (tenant_id, invoice_id) where invoice_id is not null;
create index money_lines_disputed on money_lines (tenant_id, merchant_id) where kind = 'disputed';

-- One row for each pair of accounts of a journal: rider:NAME, clearing, merchant:ID, delivery_revenue, returns_revenue and tax.
create table ledger_transfers (
  tenant_id text collate "C" not null,
  journal_id uuid not null,
  debit text not null,
  credit text not null,
  amount numeric(16, 2) not null constraint ledger_transfers_amount_check check (amount > 0),
  -- The day of the commit in the tenant's time zone.
  booked_on date not null,
  constraint ledger_transfers_pkey primary key (tenant_id, journal_id, debit, credit),
  constraint ledger_transfers_accounts_check check (debit <> credit)
);
create index ledger_transfers_by_day on ledger_transfers (tenant_id, booked_on);

-- The transfers of closed days, summed for each pair of accounts, from both sides.
create table ledger_days (
  tenant_id text collate "C" not null,
  account text not null,
  booked_on date not null,
  counter_account text not null,
  debit numeric(16, 2) not null,
  credit numeric(16, 2) not null,
  -- The account's balance after this row, in the order of days and other accounts: what was folded is never summed again.
  balance numeric(16, 2) not null default 0,
  constraint ledger_days_pkey primary key (tenant_id, account, booked_on, counter_account)
);
-- SHA-256 over the day's rows of ledger_days and the seal before, in hexadecimal.
create table ledger_seals (
  tenant_id text collate "C" not null,
  booked_on date not null,
  seal text collate "C" not null,
  constraint ledger_seals_pkey primary key (tenant_id, booked_on)
);

create table cash_handovers (
  tenant_id text collate "C" not null,
  handover_id bigint generated always as identity,
  collected_by text not null,
  waybill_numbers text[] not null,
  -- The cash of the waybills, and what the person owed from earlier handovers, `debt`, which is part of it.
  expected numeric(16, 2) not null,
  debt numeric(16, 2) not null default 0,
  declared numeric(16, 2) not null,
  counted numeric(16, 2) not null,
  note text,
  -- open: the three sums differ, nothing is cleared. owed, written_off: what a second person decided.
  state text collate "C" not null constraint cash_handovers_state_check check (state in ('cleared', 'open', 'owed', 'written_off')),
  -- The journal of its transfers; null while it is open.
  journal_id uuid,
  booked_on date,
  taken_by text not null,
  taken_at timestamptz not null,
  settled_by text,
  settled_at timestamptz,
  settle_reason text,
  constraint cash_handovers_pkey primary key (tenant_id, handover_id)
);
create index cash_handovers_open on cash_handovers (tenant_id) where state = 'open';
create index cash_handovers_by_collector on cash_handovers (tenant_id, collected_by, handover_id);

create table cash_deposits (
  tenant_id text collate "C" not null,
  -- Also its journal, and `banked_by` of its lines.
  deposit_id uuid not null,
  amount numeric(16, 2) not null,
  -- Part of `amount`: debts that were paid, less what was missing.
  other numeric(16, 2) not null default 0,
  bank_reference text not null,
  parcels integer not null,
  deposited_by text not null,
  deposited_at timestamptz not null,
  booked_on date not null,
  constraint cash_deposits_pkey primary key (tenant_id, deposit_id),
  constraint cash_deposits_reference_key unique (tenant_id, bank_reference)
);

create table invoices (
  tenant_id text collate "C" not null,
  invoice_id uuid not null,
  merchant_id bigint not null,
  invoice_no text collate "C" not null,
  invoice_ref_no text collate "C" not null,
  -- Lines of this day and before.
  until date not null,
  state text collate "C" not null
    constraint invoices_state_check check (state in ('draft', 'submitted', 'approved', 'rejected', 'deposited', 'cancelled')),
  parcels integer not null,
  -- Part of `total`: the lines of the time of earlier invoices.
  brought_forward numeric(16, 2) not null,
  -- The sum to pay, always above zero.
  total numeric(16, 2) not null,
  -- The sum that the merchant pays apart.
  charges_due numeric(16, 2) not null default 0,
  made_by text not null,
  made_at timestamptz not null,
  submitted_by text,
  submitted_at timestamptz,
  decided_by text,
  decided_at timestamptz,
  reason text,
  deposited_by text,
  deposited_at timestamptz,
  -- The journal of the payment.
  journal_id uuid,
  booked_on date,
  bank_reference text,
  paid_on date,
  -- The journal of the payment of `charges_due`.
  charges_journal_id uuid,
  charges_booked_on date,
  charges_reference text,
  constraint invoices_pkey primary key (tenant_id, invoice_id),
  constraint invoices_no_key unique (tenant_id, invoice_no),
  constraint invoices_ref_key unique (tenant_id, invoice_ref_no)
);
create index invoices_by_merchant on invoices (tenant_id, merchant_id, made_at);

create table invoice_counters (
  tenant_id text collate "C" not null,
  -- The mask with the parts of the day filled in.
  series text collate "C" not null,
  last_number integer not null,
  constraint invoice_counters_pkey primary key (tenant_id, series)
);

create table bank_accounts (
  tenant_id text collate "C" not null,
  merchant_id bigint not null,
  version integer not null,
  key_id text collate "C" not null,
  sealed bytea not null,
  last_four text not null,
  changed_by text not null,
  changed_at timestamptz not null,
  confirmed_by text,
  confirmed_at timestamptz,
  constraint bank_accounts_pkey primary key (tenant_id, merchant_id, version)
);

do $$
declare name text;
begin
  foreach name in array array[
    'money_lines', 'ledger_transfers', 'ledger_days', 'ledger_seals', 'cash_handovers', 'cash_deposits', 'invoices',
    'invoice_counters', 'bank_accounts'
  ] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
  end loop;
  -- The ledger is append-only, but for what an invoice and a deposit say of a line.
  execute format('grant select, insert on money_lines, ledger_transfers, ledger_days, ledger_seals, cash_deposits to %I',
    current_setting('app.role'));
  execute format('grant update (invoice_id, banked_by) on money_lines to %I', current_setting('app.role'));
  execute format('grant select, insert, update on cash_handovers, invoices, invoice_counters, bank_accounts to %I',
    current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
