-- True for what came while another responder answered: the person's messages, and that responder's echoes.
alter table inbound_messages add column is_standby boolean not null default false;
-- When another responder first and last answered on the number, and when we last did.
alter table channel_signals add column standby_first_at timestamptz, add column standby_at timestamptz,
  add column owned_at timestamptz;
