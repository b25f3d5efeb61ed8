-- Who answers a person: ours, or other for another responder on the number; null while no webhook has said it.
alter table conversations add column owner text collate "C", add column owner_at timestamptz;
