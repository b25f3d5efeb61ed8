-- The live tax invoice or note that has the charges of the line; null: none. Its COD is on the remittance, invoice_id.
alter table money_lines add column tax_invoice_id uuid;
do $$ begin
  execute format('grant update (tax_invoice_id) on money_lines to %I', current_setting('app.role'));
end $$;
