-- A look-up by phone compares phone_key, the last nine digits of customer_phone without blanks, plus, dashes, dots and
-- parentheses. Where the spelling would hide those of the number, customer_phone is the number in E.164, and this is the same
-- number, a blank, and the spelling that the merchant typed. It counts only while customer_phone is still that number: an edit by
-- a process of the version before changes customer_phone alone.
alter table orders add column phone_as_typed text;
