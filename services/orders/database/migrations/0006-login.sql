-- Every login makes a token: those that ended are deleted after a while, and found by this index.
create index tokens_ended on tokens (tenant_id, least(expires_at, revoked_at));

do $$ begin
  execute format('grant delete on tokens to %I', current_setting('app.role'));
end $$;
