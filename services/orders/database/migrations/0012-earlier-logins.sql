-- Tokens of logins before 0010 count as such: the audit names them.
alter table tokens no force row level security;
alter table audit no force row level security;
update tokens set from_login = true
from audit
where audit.tenant_id = tokens.tenant_id and audit.object_id = tokens.token_id and audit.action = 'merchant.logged_in'
  and not tokens.from_login;
alter table audit force row level security;
alter table tokens force row level security;
