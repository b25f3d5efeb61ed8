-- Prices have as many decimals as their currency (ISO 4217), not always two. Postgres rewrites no row for a numeric that
-- loses its limit, and processes of the last release read and write it as before.
alter table rates
  alter column first_kg type numeric,
  alter column each_extra_kg type numeric;
alter table rate_cards
  alter column cod_fee_min type numeric,
  alter column return_fee type numeric,
  alter column each_return_kg type numeric;
alter table tenants alter column cash_ceiling type numeric;
alter table orders alter column delivery_charge type numeric;
