-- written: by the person. echo: sent to the person from the company's phone app. replaced: shown no more, since the
-- sender edited it.
alter table inbound_messages add column kind text collate "C" not null default 'written';
-- The API's id of the message that this one replaces.
alter table inbound_messages add column edits text collate "C";

do $$
begin
  execute format('grant update (recipient, kind) on inbound_messages to %I', current_setting('app.role'));
end $$;
