-- What tenant.applied changed in settings of taxes, documents and payments, each with its old and its new value.
alter table audit add column details jsonb;
