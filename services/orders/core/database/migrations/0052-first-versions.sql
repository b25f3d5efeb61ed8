-- Gives the invoices of earlier builds of this version what 0046 and the code behind it count on: a first version, with the lines of now,
-- and the end of the time to object, which had been computed at each reading. A cancelled one has lost its lines. Withdraws the columns
-- of those builds, which no release has; a line brought forward stays a line of its invoice.
do $$
declare of_tenant text;
begin
  -- Row-level security keeps a table with rows from being distributed later.
  if to_regclass('pg_dist_partition') is not null then
    perform create_distributed_table('invoice_versions', 'tenant_id', colocate_with => 'tenants')
    from pg_dist_partition where logicalrelid = 'tenants'::regclass;
  end if;
  for of_tenant in select tenant_id from tenants loop
    execute format('set local app.tenant = %L', of_tenant);
    insert into invoice_versions (tenant_id, invoice_id, version, kind, issued_on, total, charges_due, letterhead, waybill_numbers, line_nos)
    select invoices.tenant_id, invoices.invoice_id, 1, 'submitted', (submitted_at at time zone time_zone)::date, total, charges_due,
      jsonb_build_object('company', tenants.name, 'company_address', null, 'company_tax_number', null,
        'merchant_name', merchants.name, 'merchant_address', null, 'merchant_tax_number', null, 'currency', currency),
      coalesce(lines.waybill_numbers, '{}'), coalesce(lines.line_nos, '{}')
    from invoices join tenants on tenants.tenant_id = invoices.tenant_id
      join merchants on merchants.tenant_id = invoices.tenant_id and merchants.merchant_id = invoices.merchant_id
      left join (
        select invoice_id, array_agg(waybill_number order by waybill_number, line_no) as waybill_numbers,
          array_agg(line_no order by waybill_number, line_no) as line_nos
        from money_lines where tenant_id = of_tenant and invoice_id is not null group by 1
      ) lines on lines.invoice_id = invoices.invoice_id
    where invoices.tenant_id = of_tenant and submitted_at is not null and state <> 'cancelled' and invoices.version = 0
    on conflict do nothing;
    with presented as materialized (
      select invoice_id, state = 'submitted' and submitted_at + make_interval(days => accept_after_days) <= now() as is_silent,
        submitted_at + make_interval(days => accept_after_days) as ended_at
      from invoices join tenants on tenants.tenant_id = invoices.tenant_id
      where invoices.tenant_id = of_tenant and submitted_at is not null and state <> 'cancelled' and invoices.version = 0
    )
    update invoices set version = 1, objection_until = ended_at, state = case when is_silent then 'approved' else state end,
      decided_at = case when is_silent then ended_at else decided_at end
    from presented where invoices.tenant_id = of_tenant and invoices.invoice_id = presented.invoice_id;
  end loop;
end $$;
alter table tenants drop column accept_after_days;
alter table invoices drop column brought_forward;
