-- The account's balance after this row, in the order of days and other accounts: what was folded is never summed again.
alter table ledger_days add column balance numeric(16, 2) not null default 0;
alter table ledger_days no force row level security;
update ledger_days set balance = summed.balance from (
  select tenant_id, account, booked_on, counter_account,
    sum(debit - credit) over (partition by tenant_id, account order by booked_on, counter_account) as balance
  from ledger_days
) summed
where ledger_days.tenant_id = summed.tenant_id and ledger_days.account = summed.account and ledger_days.booked_on = summed.booked_on
  and ledger_days.counter_account = summed.counter_account;
alter table ledger_days force row level security;
