-- What a program of a merchant is called. null: a login's, or one that the operator made.
alter table tokens add column name text;
