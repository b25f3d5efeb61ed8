-- What staff decided about a customer's request. Not validated: rows from before have one of the first two.
alter table outbox drop constraint outbox_type_check;
alter table outbox add constraint outbox_type_check check (
  type in ('order.created', 'order.status_changed') or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;
