-- A merchant has a bounded number of live tokens that logins made; those that an operator made do not count.
alter table tokens add column from_login boolean not null default false;
create index tokens_of_logins on tokens (tenant_id, merchant_id) where from_login and revoked_at is null;
