-- What customers asked for by a button of a message, and what came of it: each id once.
create table customer_actions (
  tenant_id text collate "C" not null,
  action_id text collate "C" not null,
  -- What staff decide by.
  request_id bigint generated always as identity,
  waybill_number text collate "C" not null,
  action text collate "C" not null,
  outcome text collate "C" not null,
  -- Why it was refused.
  detail text,
  -- Of a request that staff decide; null also for one that was open already.
  status text collate "C",
  happened_at timestamptz not null,
  stored_at timestamptz not null default now(),
  decided_at timestamptz,
  decided_by text,
  note text,
  constraint customer_actions_pkey primary key (tenant_id, action_id),
  constraint customer_actions_outcome_check check (outcome in ('done', 'refused', 'asked', 'requested')),
  constraint customer_actions_status_check check (status in ('open', 'accepted', 'declined'))
);
-- Whoever stores a request holds its order's row.
create unique index customer_actions_open on customer_actions (tenant_id, waybill_number, action) where status = 'open';
create index customer_actions_of_order on customer_actions (tenant_id, waybill_number);
create index customer_requests on customer_actions (tenant_id, request_id) where status is not null;
create index customer_actions_by_age on customer_actions (tenant_id, stored_at);

alter table customer_actions enable row level security;
alter table customer_actions force row level security;
create policy of_tenant on customer_actions using (tenant_id = nullif(current_setting('app.tenant', true), ''));

do $$ begin
  execute format('grant select, insert, delete, update (status, decided_at, decided_by, note) on customer_actions to %I',
    current_setting('app.role'));
  execute format('grant usage on all sequences in schema public to %I', current_setting('app.role'));
end $$;

-- 'customer', or null: staff_name, else the merchant.
alter table order_edits add column actor text collate "C";
