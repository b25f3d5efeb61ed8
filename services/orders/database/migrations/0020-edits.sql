-- Whether a delivered order was delivered at the first attempt. null: it is not delivered, or was so by an earlier version.
alter table orders add column if not exists first_attempt boolean;
