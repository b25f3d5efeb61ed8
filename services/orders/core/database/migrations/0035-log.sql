-- One log for each tenant: what happened to orders, written in the transaction that made it true. An entry has the changes of one or more
-- orders of one merchant. The relay delivers it to the notifier; the merchant's feed and webhooks read it by position. The outbox becomes
-- the log, and takes in new_changes and changes.
alter table outbox rename to log;
-- Entries of one waybill have its order: whoever changes an order holds its row while this number is given.
alter table log rename column outbox_id to entry_id;
-- Names the entry to the notifier.
alter table log rename column row_key to entry_key;
-- null: it is for the notifier alone, as a decision of staff.
alter table log add column merchant_id bigint;
-- The names of what an edit changed.
alter table log add column fields text[];
alter table log add column actor text collate "C";
-- In the merchant's feed; null until it is given, after the commit. An entry of n waybills has the positions from this one on.
alter table log add column position bigint;
-- The notifier acknowledged it, or is not to get it.
alter table log add column is_relayed boolean not null default false;
-- Details that feeds and webhooks add to the type: the reason of a failure, an instruction, an invoice.
alter table log add column details jsonb;
alter table log add constraint log_actor_check check (merchant_id is null or actor in ('merchant', 'staff', 'customer')) not valid;
-- money.paid: an invoice of the parcel was paid. invoice.deposited: a merchant was paid. That entry has no parcel: one waybill number,
-- which is empty, takes its position in the feed.
alter table log drop constraint outbox_type_check;
alter table log add constraint log_type_check check (
  type in ('order.created', 'order.status_changed', 'order.edited', 'order.instructed', 'money.paid', 'invoice.deposited')
    or type ~ '^[a-z][a-z0-9_]{0,62}\.(accepted|declined)$'
) not valid;

-- '*' as the tenant no longer shows the rows of all tenants: no process that may run beside this schema sets it.
alter policy of_tenant on log using (
  tenant_id = nullif(current_setting('app.tenant', true), '') or current_setting('app.all_tenants', true) = 'on');
alter policy of_tenant on outbox_leases using (
  tenant_id = nullif(current_setting('app.tenant', true), '') or current_setting('app.all_tenants', true) = 'on');

-- The owner moves the rows of all tenants.
alter table log no force row level security;
alter table changes no force row level security;
alter table new_changes no force row level security;
insert into log (tenant_id, merchant_id, position, type, waybill_numbers, status_keys, fields, actor, happened_at, is_relayed)
select tenant_id, merchant_id, position, type, waybill_numbers, status_keys, fields, actor, happened_at, true
from changes order by happened_at;
insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, fields, actor, happened_at, is_relayed)
select tenant_id, merchant_id, type, waybill_numbers, status_keys, fields, actor, happened_at, true
from new_changes order by change_id;
alter table log force row level security;
drop table changes;
drop table new_changes;

create index log_waiting on log (tenant_id, entry_id) where not is_relayed;
create index log_unnumbered on log (tenant_id, merchant_id, entry_id) where position is null and merchant_id is not null;
create unique index log_feed on log (tenant_id, merchant_id, position) where position is not null;

-- Entries that wait for the notifier. A process of 0.2.0 deletes those it delivered; it would drop an entry without a parcel.
create view outbox with (security_invoker = true) as
  select tenant_id, entry_id as outbox_id, entry_key as row_key, type, waybill_numbers, status_keys, note, happened_at, traceparents
  from log where not is_relayed and type <> 'invoice.deposited';
create rule relayed as on delete to outbox do instead
  update log set is_relayed = true where tenant_id = old.tenant_id and entry_id = old.outbox_id;

-- For processes of 0.2.0, beside which this version runs. They write each change here and to the outbox. They number by deleting here and
-- adding to `changes`: they see no entry that waits for the notifier, and none behind one.
create view new_changes with (security_invoker = true) as
  select tenant_id, merchant_id, entry_id as change_id, type, waybill_numbers, status_keys, fields, actor, happened_at, is_relayed
  from log where merchant_id is not null and position is null and is_relayed and not exists (
    select from log earlier where earlier.tenant_id = log.tenant_id and earlier.merchant_id = log.merchant_id
      and earlier.position is null and not earlier.is_relayed and earlier.entry_id < log.entry_id
  );
create view changes with (security_invoker = true) as
  select tenant_id, merchant_id, position, type, waybill_numbers, status_keys, fields, actor, happened_at, is_relayed, null::tid as ctid
  from log where position is not null;
-- The outbox delivers what they write here. Citus passes no default of a view on to its nodes, which need none.
set local citus.enable_ddl_propagation = off;
alter view new_changes alter column is_relayed set default true;
alter view changes alter column is_relayed set default true;
set local citus.enable_ddl_propagation = on;

do $$
begin
  execute format('grant select, insert, delete on outbox, new_changes, changes to %I', current_setting('app.role'));
  execute format('grant update (position, is_relayed) on log to %I', current_setting('app.role'));
end $$;
