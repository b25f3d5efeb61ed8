-- Of the page of a parcel, such as #0a5c8f. null: a plain one.
alter table tenants add column color text collate "C";
