-- pickup.requested and the steps after it: the entries have no parcel, like invoice.deposited.
alter table log drop constraint log_type_check;
alter table log add constraint log_type_check check (
  type in ('order.created', 'order.status_changed', 'order.edited', 'order.instructed', 'money.paid', 'invoice.deposited', 'invoice.submitted',
    'bank_account.changed', 'pickup.requested', 'pickup.assigned', 'pickup.done', 'pickup.missed')
    or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;
-- Version 0.2.0 knows no events about merchants.
create or replace view outbox with (security_invoker = true) as
  select tenant_id, entry_id as outbox_id, entry_key as row_key, type, waybill_numbers, status_keys, note, happened_at, traceparents
  from log where not is_relayed and type not in ('invoice.deposited', 'invoice.submitted', 'bank_account.changed',
    'pickup.requested', 'pickup.assigned', 'pickup.done', 'pickup.missed');
