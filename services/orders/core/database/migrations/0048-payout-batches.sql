-- Pay runs (docs/money.md#the-pay-run): each payment of an invoice is in one file for the bank.
create table payout_batches (
  tenant_id text collate "C" not null,
  batch_no text collate "C" not null,
  -- made -> released -> settled, or failed once no invoice is left to pay; made -> cancelled.
  state text collate "C" not null default 'made'
    constraint payout_batches_state_check check (state in ('made', 'released', 'settled', 'failed', 'cancelled')),
  -- The sum of the file and how many invoices it has; `returned` is the sum of those whose payment failed.
  total numeric not null,
  invoices integer not null,
  returned numeric not null default 0,
  currency text collate "C" not null,
  -- The file for the bank, with the numbers of accounts as they were: UTF-8 text, sealed with WEBHOOK_KEYS.
  key_id text collate "C" not null,
  sealed bytea not null,
  made_by text not null,
  made_at timestamptz not null,
  released_by text,
  released_at timestamptz,
  -- Who settled or cancelled the batch, or returned its last invoice.
  ended_by text,
  ended_at timestamptz,
  -- The reason of a cancelled batch.
  reason text,
  bank_reference text,
  paid_on date,
  -- The database was restored from a backup in which the batch was not ended: the bank may have paid it since.
  is_in_doubt boolean not null default false,
  constraint payout_batches_pkey primary key (tenant_id, batch_no),
  constraint payout_batches_reference_key unique (tenant_id, bank_reference)
);
create index payout_batches_by_time on payout_batches (tenant_id, made_at);

create table payout_items (
  tenant_id text collate "C" not null,
  batch_no text collate "C" not null,
  invoice_id uuid not null,
  -- open: the invoice is locked in the batch.
  state text collate "C" not null default 'open'
    constraint payout_items_state_check check (state in ('open', 'paid', 'failed', 'cancelled')),
  amount numeric not null,
  last_four text not null,
  -- The reason of a failed payment.
  reason text,
  constraint payout_items_pkey primary key (tenant_id, batch_no, invoice_id)
);
-- An invoice is in one live batch at most, and is paid once.
create unique index payout_items_live on payout_items (tenant_id, invoice_id) where state in ('open', 'paid');

do $$
declare name text;
begin
  foreach name in array array['payout_batches', 'payout_items'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy of_tenant on %I using (tenant_id = nullif(current_setting(''app.tenant'', true), ''''))', name);
    execute format('grant select, insert, update on %I to %I', name, current_setting('app.role'));
  end loop;
end $$;
