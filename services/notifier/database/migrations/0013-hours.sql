-- When rules' messages may be sent, as {08:00,20:00}, by the clocks of that time zone. null: always.
alter table tenants add column send_between text[];
alter table tenants add column time_zone text;

alter table rules add column send_between text[];
-- Rules by their event: messages of theirs that wait become untrue.
alter table rules add column supersedes text[] not null default '{}';
alter table rules add column expires_after_hours integer;

-- The event of the rule that made it.
alter table messages add column rule_event text collate "C";
-- {between, timeZone}: it is sent within these hours alone.
alter table messages add column hours jsonb;
-- Why it is not sent any more: a later event made it untrue. It may be in flight when that happens.
alter table messages add column superseded_by text;
