-- The trace of each waybill's change, as W3C's traceparent; one that all have in common stands there once.
alter table outbox add column traceparents text[];
