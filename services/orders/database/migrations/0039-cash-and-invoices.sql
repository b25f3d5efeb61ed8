-- Cash, invoices and payouts (docs/money.md).
alter table tenants
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
alter table merchants
  -- null: as the tenant.
  add column payable_when text collate "C",
  add column payable_after_days integer,
  -- Invoices pay the COD in full; charges are paid by the merchant.
  add column charges_apart boolean not null default false;
alter table merchants
  add constraint merchants_payable_when_check check (payable_when in ('delivered', 'handed_over', 'banked'));

alter table staff drop constraint staff_role_check;
alter table staff add constraint staff_role_check check (role in ('viewer', 'dispatcher', 'messenger', 'accounts', 'admin'));

alter table money_lines
  -- The line of the same parcel that this one reverses, disputes or releases.
  add column refers_to integer,
  -- Owed to the merchant for a lost parcel.
  add column compensation numeric(16, 2) not null default 0,
  -- Owed to the merchant after a dispute; below zero it owes.
  add column adjustment numeric(16, 2) not null default 0,
  -- Taken from what the merchant is owed while it disputes the line; below zero it is given back.
  add column held numeric(16, 2) not null default 0,
  -- Cash that the rider gave to the office.
  add column handed numeric(16, 2) not null default 0,
  -- The live invoice that has the line; null: none.
  add column invoice_id uuid,
  -- The deposit that took what was collected to the bank.
  add column banked_by uuid;
alter table money_lines drop constraint money_lines_kind_check;
alter table money_lines add constraint money_lines_kind_check check (kind in ('delivered', 'returned', 'delivery_reversed',
  'return_reversed', 'handed_over', 'disputed', 'released', 'compensated'));
-- What a next invoice may take, and what lies with riders, at the office or in clearing: two indexes would cost a move twice.
create index money_lines_open on money_lines (tenant_id, merchant_id, cash_account)
  where (invoice_id is null and kind <> 'handed_over') or (banked_by is null and kind = 'delivered' and cod > 0);
create index money_lines_by_invoice on money_lines (tenant_id, invoice_id) where invoice_id is not null;

create index money_lines_disputed on money_lines (tenant_id, merchant_id) where kind = 'disputed';

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
  -- Of the transfers; null while it is open.
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
  -- What is paid. Always above zero.
  total numeric(16, 2) not null,
  -- What the merchant pays apart.
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
  -- Of the payment.
  journal_id uuid,
  booked_on date,
  bank_reference text,
  paid_on date,
  -- Of the payment of `charges_due`.
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

-- The transfers of closed days, summed for each pair of accounts, from both sides.
create table ledger_days (
  tenant_id text collate "C" not null,
  account text not null,
  booked_on date not null,
  counter_account text not null,
  debit numeric(16, 2) not null,
  credit numeric(16, 2) not null,
  constraint ledger_days_pkey primary key (tenant_id, account, booked_on, counter_account)
);
-- SHA-256 over the day's rows of ledger_days and the seal before, in hexadecimal.
create table ledger_seals (
  tenant_id text collate "C" not null,
  booked_on date not null,
  seal text collate "C" not null,
  constraint ledger_seals_pkey primary key (tenant_id, booked_on)
);
create index ledger_transfers_by_day on ledger_transfers (tenant_id, booked_on);

alter table cash_handovers enable row level security;
alter table cash_handovers force row level security;
create policy of_tenant on cash_handovers using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table cash_deposits enable row level security;
alter table cash_deposits force row level security;
create policy of_tenant on cash_deposits using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table invoices enable row level security;
alter table invoices force row level security;
create policy of_tenant on invoices using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table invoice_counters enable row level security;
alter table invoice_counters force row level security;
create policy of_tenant on invoice_counters using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table bank_accounts enable row level security;
alter table bank_accounts force row level security;
create policy of_tenant on bank_accounts using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table ledger_days enable row level security;
alter table ledger_days force row level security;
create policy of_tenant on ledger_days using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table ledger_seals enable row level security;
alter table ledger_seals force row level security;
create policy of_tenant on ledger_seals using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  execute format('grant select, insert, update on cash_handovers, invoices, invoice_counters, bank_accounts to %I', current_setting('app.role'));
  execute format('grant select, insert on cash_deposits, ledger_days, ledger_seals to %I', current_setting('app.role'));
  execute format('grant update (invoice_id, banked_by) on money_lines to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
