-- The invoice on which a dispute was opened: it alone settles it, even once it was cancelled or another invoice has the line.
-- null: not a dispute, or one of an earlier version.
alter table money_lines add column disputed_on uuid;
