-- The lines of a tax invoice. An operator may create it concurrently before the upgrade.
create index if not exists money_lines_by_tax_invoice on money_lines (tenant_id, tax_invoice_id)
  where tax_invoice_id is not null;
