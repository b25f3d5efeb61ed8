-- Second factors of merchants' people, too (docs/operators/sign-in.md#second-factors). No release had the table before.
alter table second_factors rename column staff_id to holder_id;

-- `staff` or `merchants`: holder_id is of a member of staff, or of a merchant's person.
alter table second_factors add column kind text collate "C" not null default 'staff';

alter table second_factors drop constraint second_factors_pkey;

alter table second_factors add constraint second_factors_pkey primary key (tenant_id, kind, holder_id);
