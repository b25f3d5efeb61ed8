-- The values before the edit, by the names in `fields`, for staff. null: an earlier version made it.
alter table order_edits add column previous jsonb;
