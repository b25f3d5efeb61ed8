-- The percentages that a line was booked with; null: booked by an earlier version, with tax and withholding in one
-- account, `tax`.
alter table money_lines
  add column tax_percent numeric(5, 2),
  add column withholding_percent numeric(5, 2);
