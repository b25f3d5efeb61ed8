-- What a message is filled from with the values of its order; null: nothing of it comes from an order, or an earlier version made it.
alter table messages add column source jsonb;
