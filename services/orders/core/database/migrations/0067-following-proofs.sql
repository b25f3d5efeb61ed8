-- The size of an image that follows its act; its bytes are a part of it while the type is null.
alter table proofs add column size integer;
do $$ begin
  execute format('grant update (kind, type, bytes, reason) on proofs to %I', current_setting('app.role'));
end $$;
