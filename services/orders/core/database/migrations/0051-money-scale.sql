-- Books that one can read (docs/money.md#books). Amounts have as many decimals as their currency (ISO 4217), and as many digits as they need. Postgres rewrites no row;
-- it makes the index money_lines_open again, whose condition names `cod`, and reads ledger_transfers once for its check.
alter table money_lines
  alter column cod type numeric,
  alter column delivery type numeric,
  alter column cod_fee type numeric,
  alter column return_fee type numeric,
  alter column tax type numeric,
  alter column withholding type numeric,
  alter column compensation type numeric,
  alter column adjustment type numeric,
  alter column held type numeric,
  alter column handed type numeric;
alter table ledger_transfers alter column amount type numeric;
alter table ledger_days
  alter column debit type numeric,
  alter column credit type numeric,
  alter column balance type numeric;
alter table cash_handovers
  alter column expected type numeric,
  alter column debt type numeric,
  alter column declared type numeric,
  alter column counted type numeric;
alter table cash_deposits
  alter column amount type numeric,
  alter column other type numeric;
alter table invoices
  alter column total type numeric,
  alter column charges_due type numeric;

-- 1: over the day's rows of ledger_days. 2: over its lines, transfers and documents, too.
alter table ledger_seals add column version smallint not null default 1;
-- The lines of a day, of one merchant or of all: for statements, the journal and seals.
create index money_lines_by_day on money_lines (tenant_id, booked_on, merchant_id, journal_id);
-- Journals in their order.
create index ledger_transfers_by_journal on ledger_transfers (tenant_id, booked_on, journal_id);
drop index ledger_transfers_by_day;
