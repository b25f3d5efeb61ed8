-- Messages that the platform accepted and has reported nothing about since: few, unless its webhooks do not arrive.
create index if not exists messages_accepted on messages (tenant_id, phone_number_id, status_at) where status = 'accepted';
