-- What the API called earlier sends of a message that was sent again: what is told of them late does not end the new one.
alter table messages add column former_ids text[] not null default '{}';

-- When it was sent again by itself, after its first sending stayed in doubt: that happens once.
alter table messages add column resent_at timestamptz;
