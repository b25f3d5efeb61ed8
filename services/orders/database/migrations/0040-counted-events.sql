-- false: staff took the move back; nor does the return to the status before it count.
alter table order_events add column is_counted boolean not null default true;
do $$ begin
  execute format('grant update (is_counted) on order_events to %I', current_setting('app.role'));
end $$;
