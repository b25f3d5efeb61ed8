-- press: the person pressed a button; address: the person wrote a text that may be an address.
alter table customer_actions add column kind text collate "C";
-- Why we refuse an action, regardless of orders: too_long or confirmed_late; null: we do not. `detail` words it for staff.
alter table customer_actions add column reason text collate "C";

-- Fills both columns for processes of the release before, which do not know them. The next release drops it.
create function kind_of_action() returns trigger language plpgsql as $$
begin
  new.kind := coalesce(new.kind, case when new.action_id like '% address' then 'address' else 'press' end);
  if new.reason is null and new.kind = 'address' then
    new.reason := case new.detail when 'The address has more than 500 characters.' then 'too_long'
      when 'It was confirmed more than an hour after it was written.' then 'confirmed_late' end;
  end if;
  return new;
end $$;
create trigger kind before insert or update of detail on customer_actions for each row
  execute function kind_of_action();
