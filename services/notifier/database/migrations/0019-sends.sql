-- Messages that the messaging API accepted, by time: how many are sent in a minute. Building it keeps messages from being sent: an
-- operator may create it before, `concurrently`.
create index if not exists message_events_accepted on message_events (tenant_id, happened_at) where status = 'accepted';
