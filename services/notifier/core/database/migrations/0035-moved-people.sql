-- Who had the number until then, by whom webhooks know that person now: what they report late from before belongs there.
alter table conversations add column moved_at timestamptz, add column moved_to text collate "C";
