-- The merchant objects to a new account within its wait: it is neither confirmed nor paid from then on.
alter table bank_accounts
  add column objected_by text,
  add column objected_at timestamptz,
  add column objection text;
-- The version of the account that the batch's file has; null: a batch of an earlier release.
alter table payout_items add column account_version integer;
