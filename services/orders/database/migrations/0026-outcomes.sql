-- Deliveries and attempts that failed, by time: the staff's figures of a day. Nothing that is booked adds to it. Building it keeps
-- moves waiting: an operator may create it before, `concurrently`.
create index if not exists order_events_outcomes on order_events (tenant_id, happened_at)
  include (status_key, waybill_number, event_id)
  where status_key in ('key_7', 'key_13', 'key_14', 'key_15', 'key_16', 'key_17');
