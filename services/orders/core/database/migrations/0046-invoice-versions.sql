-- Documents that do not change (docs/money.md#documents).
alter table tenants
  -- Hours after the submission in which only the merchant approves an invoice.
  add column objection_hours integer not null default 24,
  add column credit_note_mask text not null default 'CN-YY-MM-#####',
  -- Printed on invoices; null: not given.
  add column postal_address text,
  add column tax_number text;
alter table merchants
  add column postal_address text,
  add column tax_number text;
alter table invoices
  -- The newest row of invoice_versions; 0: none.
  add column version integer not null default 0,
  -- The time of the approval if nobody decides before; null: not submitted.
  add column objection_until timestamptz;

-- What a merchant saw of an invoice: rows are never changed, nor are the lines that they name.
create table invoice_versions (
  tenant_id text collate "C" not null,
  invoice_id uuid not null,
  version integer not null,
  kind text collate "C" not null
    constraint invoice_versions_kind_check check (kind in ('submitted', 'disputed', 'settled', 'cancelled')),
  -- null: a draft that was cancelled, which no merchant saw.
  issued_on date,
  total numeric not null,
  charges_due numeric not null,
  -- Names, addresses and tax numbers of both parties, and the currency, as they were.
  letterhead jsonb not null,
  waybill_numbers text[] not null,
  line_nos integer[] not null,
  -- The credit note that takes `credited` off the version before; null: the version takes nothing off.
  credit_note_no text collate "C",
  credited numeric,
  reason text,
  constraint invoice_versions_pkey primary key (tenant_id, invoice_id, version),
  constraint invoice_versions_credit_note_key unique (tenant_id, credit_note_no)
);

do $$
begin
  alter table invoice_versions enable row level security;
  alter table invoice_versions force row level security;
  create policy of_tenant on invoice_versions using (tenant_id = nullif(current_setting('app.tenant', true), ''));
  execute format('grant select, insert on invoice_versions to %I', current_setting('app.role'));
end $$;

-- invoice.submitted: a merchant got an invoice. The entry has no parcel, like invoice.deposited.
alter table log drop constraint log_type_check;
alter table log add constraint log_type_check check (
  type in ('order.created', 'order.status_changed', 'order.edited', 'order.instructed', 'money.paid', 'invoice.deposited', 'invoice.submitted')
    or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;
-- Version 0.2.0 knows no events about invoices.
create or replace view outbox with (security_invoker = true) as
  select tenant_id, entry_id as outbox_id, entry_key as row_key, type, waybill_numbers, status_keys, note, happened_at, traceparents
  from log where not is_relayed and type not in ('invoice.deposited', 'invoice.submitted');
