-- When a template's status was told, by the account's catalogue or by a webhook: an older report changes nothing.
alter table templates add column status_at timestamptz;

-- A person's last wish counts, in whatever order the webhooks bring them.
alter table conversations add column opted_in_at timestamptz;
