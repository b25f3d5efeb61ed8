-- Tax invoices apart from remittances (docs/money.md#two-documents), with numbers that are taken at issue.
alter table tenants
  -- one: an invoice with charges and COD. two: a tax invoice for charges, and a remittance. null: two, if the tenant
  -- has a tax_number.
  add column documents text collate "C" constraint tenants_documents_check check (documents in ('one', 'two')),
  add column invoice_form text collate "C" not null default 'plain'
    constraint tenants_invoice_form_check check (invoice_form in ('plain', 'lk')),
  add column debit_note_mask text not null default 'DN-YY-MM-#####',
  add column remittance_mask text not null default 'RM-YY-MM-#####',
  -- Fills {branch} in masks; null: no mask has it.
  add column branch text,
  add column place_of_supply text;
alter table merchants
  -- null: the branch of the tenant.
  add column branch text,
  -- null: registered with a tax_number, or else unregistered.
  add column tax_status text collate "C"
    constraint merchants_tax_status_check check (tax_status in ('registered', 'unregistered', 'exempt', 'zero_rated'));
-- A draft has its id, as text, in place of both numbers.
alter table invoices
  add column kind text collate "C" not null default 'invoice' constraint invoices_kind_check
    check (kind in ('invoice', 'tax_invoice', 'credit_note', 'debit_note', 'remittance')),
  -- The tax invoice that a note corrects.
  add column corrects_id uuid,
  -- The charges of its lines without tax, and their tax; null: an invoice of an earlier release.
  add column taxable numeric,
  add column tax numeric,
  -- What the merchant paid of `charges_due`, whose rest was set off; null: all of it.
  add column charges_paid numeric;

-- What a remittance takes off for tax invoices and notes. Rows never change; a cancelled remittance takes nothing off.
create table set_offs (
  tenant_id text collate "C" not null,
  remittance_id uuid not null,
  invoice_id uuid not null,
  -- Below zero: a credit note, which adds to the remittance.
  amount numeric not null,
  constraint set_offs_pkey primary key (tenant_id, remittance_id, invoice_id)
);
create index set_offs_by_invoice on set_offs (tenant_id, invoice_id);
do $$
begin
  alter table set_offs enable row level security;
  alter table set_offs force row level security;
  create policy of_tenant on set_offs using (tenant_id = nullif(current_setting('app.tenant', true), ''));
  execute format('grant select, insert on set_offs to %I', current_setting('app.role'));
end $$;
