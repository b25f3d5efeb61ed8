-- invoice.deposited: a merchant was paid. Its entry has no parcel: one waybill number, which is empty, takes its position in the feed.
alter table log drop constraint log_type_check;
alter table log add constraint log_type_check check (
  type in ('order.created', 'order.status_changed', 'order.edited', 'order.instructed', 'money.paid', 'invoice.deposited')
    or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;
-- Processes of 0.2.0 would drop an entry without a parcel.
create or replace view outbox with (security_invoker = true) as
  select tenant_id, entry_id as outbox_id, entry_key as row_key, type, waybill_numbers, status_keys, note, happened_at, traceparents
  from log where not is_relayed and type <> 'invoice.deposited';
-- Who gets a message when the merchant is paid. null: nobody.
alter table merchants add column phone text;
