-- false: staff took the move back; nor does the return to the status before it count.
alter table order_events add column is_counted boolean not null default true;
-- Why a delivery failed.
alter table order_events add column reason_code text collate "C";

do $$ begin
  -- The names say who booked for a merchant.
  execute format('grant update (is_counted, staff_name, actor) on order_events to %I', current_setting('app.role'));
end $$;
