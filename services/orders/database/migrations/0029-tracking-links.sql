-- Signs the links to the pages of the company's parcels.
alter table tenants add column link_key uuid not null default gen_random_uuid();
-- Where recipients reach the company: shown on the pages of its parcels.
alter table tenants add column contact text;
