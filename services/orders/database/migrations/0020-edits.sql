-- Whether a delivered order was delivered at the first attempt. null: it is not delivered, or was so by an earlier version.
alter table orders add column if not exists first_attempt boolean;

-- What merchants and staff changed of an order, apart from its statuses: nobody takes these for a place on its way.
create table order_edits (
  tenant_id text collate "C" not null,
  waybill_number text collate "C" not null,
  edit_id bigint generated always as identity,
  -- Columns of orders; values are nowhere.
  fields text[] not null,
  edited_at timestamptz not null,
  -- null: the merchant.
  staff_name text,
  reason text,
  constraint order_edits_pkey primary key (tenant_id, waybill_number, edit_id)
);
alter table order_edits enable row level security;
alter table order_edits force row level security;
create policy of_tenant on order_edits using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  execute format('grant select, insert on order_edits to %I', current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;
