-- The notifier makes waiting messages again when their order is edited.
alter table outbox drop constraint outbox_type_check;
alter table outbox add constraint outbox_type_check check (
  type in ('order.created', 'order.status_changed', 'order.edited') or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;
