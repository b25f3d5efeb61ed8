-- The trigger fills the new columns of the rows that are there.
update customer_actions set detail = detail where kind is null;
