-- settlement: the amount of a dispute's settlement, which a second person approves; charges: right charges of a parcel.
alter table corrections drop constraint corrections_kind_check;
alter table corrections add constraint corrections_kind_check check (kind in ('compensation', 'collection', 'write_off',
  'payment_received', 'opening_balance', 'returned_transfer', 'settlement', 'charges'));
-- The invoice of the dispute that a settlement settles.
alter table corrections add column disputed_on uuid;
