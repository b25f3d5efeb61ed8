-- cash_differences: cash that the bank counted otherwise than the office (docs/money.md#the-bank).
alter table cash_deposits drop constraint cash_deposits_difference_check;
alter table cash_deposits add constraint cash_deposits_difference_check
  check (difference_account in ('acquirer_fees', 'differences', 'cash_differences'));
