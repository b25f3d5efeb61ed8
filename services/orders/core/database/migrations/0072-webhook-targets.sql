-- What an endpoint of the feed is: a merchant's webhook, or what a capability delivers to.
alter table webhook_endpoints add column target text collate "C" not null default 'webhook';
