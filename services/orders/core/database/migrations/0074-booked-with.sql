-- What capabilities keep of the general data of an order's batch, by field. null: nothing.
alter table orders add column booked_with jsonb;
