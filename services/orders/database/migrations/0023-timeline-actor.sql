-- 'customer', or null: staff_name, else the merchant.
alter table order_events add column actor text collate "C";
