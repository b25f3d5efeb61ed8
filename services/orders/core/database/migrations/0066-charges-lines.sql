-- charges: a line with the difference between right charges and those that were booked, and its tax.
alter table money_lines drop constraint money_lines_kind_check;
alter table money_lines add constraint money_lines_kind_check check (kind in ('delivered', 'returned', 'delivery_reversed',
  'return_reversed', 'handed_over', 'disputed', 'released', 'compensated',
  'compensation', 'collection', 'write_off', 'payment_received', 'opening_balance', 'charges')) not valid;
