-- What customers do by buttons.
alter table audit drop constraint audit_actor_kind_check;
alter table audit add constraint audit_actor_kind_check
  check (actor_kind in ('operator', 'staff', 'merchant', 'customer')) not valid;
