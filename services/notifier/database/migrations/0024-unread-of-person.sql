-- Counts what is unread of a person, however much that person has written.
create index if not exists inbound_messages_unread_person
  on inbound_messages (tenant_id, recipient, phone_number_id, happened_at, position) where read_at is null;
