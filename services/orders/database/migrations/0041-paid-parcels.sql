-- money.paid: an invoice of the parcel was paid.
alter table log drop constraint outbox_type_check;
alter table log add constraint log_type_check check (
  type in ('order.created', 'order.status_changed', 'order.edited', 'money.paid') or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;
