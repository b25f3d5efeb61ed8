-- Limits were kept by an account that a tenant chose. One that a single tenant used becomes its own; of others nobody
-- knows who set them: they limit nothing until the API, or a webhook, says what the limit is.
select set_config('app.all_tenants', 'on', true);
insert into portfolios (portfolio_id, max_people, used, read_at)
select 'tenant ' || min(c.tenant_id) || ' ' || p.portfolio_id, p.max_people, p.used, p.read_at
from portfolios p join channels c using (portfolio_id)
where p.portfolio_id like 'account %' and p.max_people is not null
group by p.portfolio_id
having count(distinct c.tenant_id) = 1
on conflict do nothing;
insert into portfolio_people (portfolio_id, recipient, reached_at)
select 'tenant ' || c.tenant_id || ' ' || portfolio_id, recipient, reached_at
from portfolio_people join (select distinct tenant_id, portfolio_id from channels) c using (portfolio_id)
where exists (select from portfolios o where o.portfolio_id = 'tenant ' || c.tenant_id || ' ' || portfolio_id)
on conflict do nothing;
-- The messages that wait for them leave, or wait for the new limit.
update portfolios set max_people = null where portfolio_id like 'account %';
update channels set portfolio_due_at = now(), portfolio_id = case when portfolio_id like 'account %'
  then 'tenant ' || tenant_id || ' ' || portfolio_id else portfolio_id end;
