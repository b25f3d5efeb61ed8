-- The trace that a message belongs to, as W3C's traceparent.
alter table messages add column traceparent text;
