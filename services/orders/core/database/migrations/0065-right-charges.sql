-- The right charges of a delivery or of a return, which a correction of the kind charges states.
alter table corrections
  add column right_delivery numeric,
  add column right_cod_fee numeric,
  add column right_return_fee numeric;
