-- Staff's lists of messages, newest first, among millions: without these a filter that few rows match reads all of the tenant's.
-- Building them keeps messages from being written, some seconds for each million: an operator may do so before, `concurrently`.

-- Every step of the queue would add to it: lists look for what is in the queue by the queue's own indexes.
create index if not exists messages_recipient on messages (tenant_id, recipient, message_id)
  where status in ('unknown', 'accepted', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'expired');

-- Statuses that few messages have, and that a message does not come to on its way.
create index if not exists messages_rare_status on messages (tenant_id, status, message_id)
  where status in ('unknown', 'failed', 'cancelled', 'expired');
