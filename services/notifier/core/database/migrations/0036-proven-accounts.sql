-- The account that the API named for the number when it accepted the tenant's token: what webhooks report of its limit
-- counts for all numbers of the portfolio. Of another waba_id, which the tenant chose, it counts for the tenant alone.
alter table channels add column proven_waba_id text collate "C";
