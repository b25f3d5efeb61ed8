-- All roles of a person, the first of them in `role` too, which the last release reads. null, or another first one: `role` alone.
alter table staff add column roles text[];
