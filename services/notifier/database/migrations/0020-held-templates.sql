-- The few that messages wait for: the queue looks at them with each claim.
create index templates_waiting on templates (tenant_id, waba_id) where held_at is not null or budget_paused_at is not null;
