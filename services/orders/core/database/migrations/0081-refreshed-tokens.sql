-- Tokens that their client refreshes, for some operations (docs/merchants/agents.md#on-the-web).

-- The operations that the token may use, by operationId. null: all that its holder may use.
alter table tokens add column operations text[];
-- SHA-256 of the id of the client. null: nobody refreshes the token.
alter table tokens add column client_hash bytea;
-- SHA-256 of the refresh token.
alter table tokens add column refresh_hash bytea;
alter table tokens add column refreshed_until timestamptz;
