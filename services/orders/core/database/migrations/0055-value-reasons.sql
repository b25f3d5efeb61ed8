-- A correction of compensation that may exceed the COD of its parcel: its reason says why the goods are worth more.
alter table corrections add column exceeds_cod boolean not null default false;
