-- When sends of a message began to fail, and when the next one is due; `due_at` differs once something else moved it.
alter table messages add column failing_since timestamptz;
alter table messages add column retry_at timestamptz;
create index messages_retried on messages (failing_since) where status = 'queued' and due_at = retry_at;
