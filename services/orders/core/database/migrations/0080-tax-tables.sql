-- Several taxes and withholdings, with rates by date (docs/money.md#several-taxes, #withholding-by-table).
-- Citus wants functions before other commands.

-- Returns the rates of a table that hold on a day: of each name the first row whose conditions the facts meet, with its
-- newest rate that has begun. null: none holds.
create function rates_on(listed jsonb, day date, facts jsonb) returns jsonb
language plpgsql immutable strict parallel safe as $$
declare
  tax jsonb;
  rate jsonb;
  best jsonb;
  found jsonb := '[]';
  dated text[] := '{from,percent}';
begin
  for tax in select value from jsonb_array_elements(listed) loop
    best := null;
    for rate in select value from jsonb_array_elements(tax -> 'rates') loop
      if (rate ->> 'from')::date <= day and facts @> (rate - dated)
        and (best is null or best - dated = rate - dated and best ->> 'from' < rate ->> 'from') then
        best := rate;
      end if;
    end loop;
    if best is not null then
      found := found || jsonb_strip_nulls(jsonb_build_object('name', tax -> 'name', 'on', tax -> 'on_top_of',
        'percent', case when facts ? 'untaxed' then '0' else best -> 'percent' end));
    end if;
  end loop;
  return nullif(found, '[]');
end $$;

-- Computes taxes in the order of their rates, each rounded once, less what was `booked`: a list of earlier results.
create function line_taxes(rates jsonb, taxable numeric, booked jsonb, decimals integer) returns jsonb
language plpgsql immutable strict parallel safe as $$
declare
  rate jsonb;
  base numeric;
  amount numeric;
  amounts jsonb := '{}';
  earlier record;
  found jsonb := '[]';
begin
  for rate in select value from jsonb_array_elements(rates) loop
    base := taxable + coalesce(
      (select sum(value::numeric) from jsonb_each_text(amounts) where rate -> 'on' ? key), 0);
    amount := round(base * (rate ->> 'percent')::numeric / 100, decimals);
    amounts := amounts || jsonb_build_object(rate ->> 'name', amount);
    select coalesce(sum((tax ->> 'taxable')::numeric), 0) as taxable, coalesce(sum((tax ->> 'amount')::numeric), 0)
      as amount into earlier
      from jsonb_array_elements(booked) list cross join jsonb_array_elements(list) tax
      where tax -> 'name' = rate -> 'name';
    found := found || (rate
      || jsonb_build_object('taxable', base - earlier.taxable, 'amount', amount - earlier.amount));
  end loop;
  return found;
end $$;

create function sum_of_taxes(taxes jsonb) returns numeric language sql immutable strict parallel safe as $$
  select coalesce(sum((value ->> 'amount')::numeric), 0) from jsonb_array_elements(taxes)
$$;

alter table tenants
  -- JSON, as the company file has it, for `apply` to compare. null: tax_percent and withholding_percent.
  add column taxes text,
  add column withholding text,
  -- Orders of merchants that are not registered for tax are refused.
  add column registered_only boolean not null default false;
-- The class of goods of a business, in the words of `withholding`. null: none.
alter table businesses add column goods text;
-- Why orders of the merchant are refused. null: they are taken.
alter table merchants add column booking_refusal text;
-- Each tax with name, percent, taxable and amount, which add up to the column tax or withholding. null: the short form.
alter table money_lines add column taxes jsonb, add column withheld jsonb;
alter table invoices add column taxes jsonb;
