-- One message for several parcels of a person. null: the rule makes a message for each parcel.
alter table rules add column within_minutes integer;

-- The rule whose messages to one person may leave as one, by its event and template. null: the message leaves alone.
alter table messages add column joins text collate "C";
-- The message that carries this one's parcel: it alone is sent. Its status is this one's, see below.
alter table messages add column joined_to text collate "C";
-- What was sent last, with {{count}} and {{waybill_numbers}}. null: `template`.
alter table messages add column sent_content jsonb;
create index messages_joining on messages (tenant_id, phone_number_id, recipient, joins)
  where status = 'queued' and joins is not null;
create index messages_joined on messages (tenant_id, joined_to) where joined_to is not null;

-- Gives joined messages the status of the one that carries them, whatever changed it. Back in the queue, each is its own
-- message again, with what has become of its parcel meanwhile.
create function follow_message() returns trigger language plpgsql as $$
begin
  update messages set status = new.status, status_at = new.status_at, due_at = new.due_at, attempts = new.attempts,
    expires_at = greatest(expires_at, new.expires_at), error_code = new.error_code, error_meaning = new.error_meaning,
    fence = fence + 1, joined_to = case when new.status <> 'queued' then joined_to end
  where tenant_id = new.tenant_id and joined_to = new.message_id;
  return null;
end $$;
create trigger follow after update of status on messages for each row
  when (new.joins is not null and old.status <> new.status and new.joined_to is null)
  execute function follow_message();
