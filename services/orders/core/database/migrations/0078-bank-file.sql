-- The template of the file for the bank, as JSON; null: CSV (docs/money.md#the-file-for-the-bank).
alter table tenants add column bank_file text;
-- Ends the name of the batch's file; null: csv.
alter table payout_batches add column file_extension text collate "C";
