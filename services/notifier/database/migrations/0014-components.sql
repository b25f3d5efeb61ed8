-- `json` keeps the order of fields, by which `apply` sees what has changed.
-- Headers of other kinds than text, buttons and named parameters of a rule's messages. Processes of 0.1.0 leave them out.
alter table rules add column components json not null default '[]';
