-- Money (docs/money.md). Amounts are in the tenant's currency.
alter table tenants
  -- On the charges of a parcel.
  add column tax_percent numeric(5, 2) not null default 0,
  -- Withheld from what recipients paid, for the tax office.
  add column withholding_percent numeric(5, 2) not null default 0;
alter table rate_cards
  add column cod_fee_percent numeric(5, 2) not null default 0,
  add column cod_fee_min numeric(12, 2) not null default 0,
  add column return_fee numeric(12, 2) not null default 0,
  add column each_return_kg numeric(12, 2) not null default 0;
-- What a move to the status books. null: what its key says.
alter table statuses add column books text collate "C"
  constraint statuses_books_check check (books in ('delivery', 'partial_delivery', 'return', 'nothing'));

-- What was booked for each parcel. `cod` is owed to the merchant, the others by it.
create table money_lines (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  -- Numbered from 1 under the order's lock.
  line_no integer not null,
  journal_id uuid not null,
  merchant_id bigint not null,
  kind text collate "C" not null constraint money_lines_kind_check check (kind in ('delivered', 'returned')),
  -- What the recipient paid.
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
  constraint money_lines_pkey primary key (tenant_id, waybill_number, line_no)
);

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

alter table money_lines enable row level security;
alter table money_lines force row level security;
create policy of_tenant on money_lines using (tenant_id = nullif(current_setting('app.tenant', true), ''));
alter table ledger_transfers enable row level security;
alter table ledger_transfers force row level security;
create policy of_tenant on ledger_transfers using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  -- Both are append-only.
  execute format('grant select, insert on money_lines, ledger_transfers to %I', current_setting('app.role'));
end $$;
