-- Cash that riders hand to each other, and payments that arrive at the bank less fees (docs/money.md#cash).
-- Who has the cash of a delivery since another person took it: rider:NAME. null: cash_account.
alter table money_lines add column held_by text;
create index money_lines_held_by on money_lines (tenant_id, held_by) where held_by is not null and banked_by is null;

create table cash_transfers (
  tenant_id text collate "C" not null,
  -- Also its journal.
  transfer_id uuid not null,
  from_name text not null,
  to_name text not null,
  waybill_numbers text[] not null,
  amount numeric not null,
  reason text,
  transferred_by text not null,
  transferred_at timestamptz not null,
  booked_on date not null,
  constraint cash_transfers_pkey primary key (tenant_id, transfer_id)
);

-- The sum that did not arrive at the bank with `amount`, and the account that has it; null: all arrived.
alter table cash_deposits add column difference numeric not null default 0;
alter table cash_deposits add column difference_account text collate "C"
  constraint cash_deposits_difference_check check (difference_account in ('acquirer_fees', 'differences'));

do $$ begin
  alter table cash_transfers enable row level security;
  alter table cash_transfers force row level security;
  create policy of_tenant on cash_transfers using (tenant_id = nullif(current_setting('app.tenant', true), ''));
  execute format('grant select, insert on cash_transfers to %I', current_setting('app.role'));
  execute format('grant update (held_by) on money_lines to %I', current_setting('app.role'));
end $$;
