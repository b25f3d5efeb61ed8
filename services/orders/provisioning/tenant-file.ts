import { type Static, Type } from '@sinclair/typebox'

const Name = Type.String({ minLength: 1, maxLength: 255, pattern: '\\S', must: 'be a text of 1 to 255 characters' })
const Id = Type.Integer({ minimum: 1, maximum: 2147483647, must: 'be an integer from 1 to 2147483647' })
const Key = Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$', must: 'be 1 to 63 of a-z, 0-9, _ and -' })
const Price = Type.Number({
  minimum: 0,
  maximum: 9_999_999_999.99,
  must: 'be an amount from 0 to 9999999999.99 with at most two decimals',
})

const strict = { additionalProperties: false }

export const TenantSettings = Type.Object(
  {
    id: Key,
    name: Name,
    currency: Type.String({ pattern: '^[A-Z]{3}$', must: 'be a currency code such as LKR' }),
    country: Type.String({ pattern: '^[A-Z]{2}$', must: 'be a country code such as LK' }),
    time_zone: Type.String({ minLength: 1, maxLength: 64, must: 'be a time zone such as Asia/Colombo' }),
    waybills: Type.Object(
      {
        mode: Type.Union([Type.Literal('auto'), Type.Literal('manual')], { must: 'be auto or manual' }),
        format: Type.String({
          pattern: '^[\\x21-\\x7e]*[#@*][\\x21-\\x7e]*$',
          maxLength: 50,
          must: 'be at most 50 printable ASCII characters without blanks, at least one of them #, @ or *',
        }),
      },
      strict,
    ),
    secondary_phone: Type.Optional(Type.Boolean()),
  },
  strict,
)

const City = Type.Object(
  { id: Id, name: Name, postal_code: Type.Optional(Type.String({ minLength: 1, maxLength: 20 })) },
  strict,
)
const State = Type.Object({ id: Id, name: Name, cities: Type.Array(City) }, strict)

const RateCard = Type.Object(
  {
    name: Name,
    zones: Type.Record(
      Type.String(),
      Type.Union([Type.Array(Id), Type.Literal('*')], { must: 'list city ids, or be "*" for all other cities' }),
    ),
    rates: Type.Array(Type.Object({ from: Name, to: Name, first_kg: Price, each_extra_kg: Price }, strict)),
  },
  strict,
)

const Business = Type.Object({ id: Id, name: Name, default: Type.Optional(Type.Boolean()) }, strict)

const Merchant = Type.Object(
  {
    name: Name,
    email: Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 255, must: 'be an e-mail address' }),
    password: Type.String({ minLength: 8, maxLength: 255, must: 'be 8 to 255 characters long' }),
    rate_card: Type.Optional(Type.Union([Name, Type.Null()])),
    businesses: Type.Array(Business),
  },
  strict,
)

const StatusEntry = Type.Object(
  {
    key: Key,
    name: Type.Optional(Name),
    color: Type.Optional(
      Type.String({ pattern: '^[a-z][a-z-]{0,29}$', must: 'be the name of a colour such as success' }),
    ),
    description: Type.Optional(Type.String({ maxLength: 255 })),
    moves: Type.Optional(Type.Array(Key)),
  },
  strict,
)

/** A tenant described in one file: what `orders apply` reads. */
export const TenantFile = Type.Object(
  {
    tenant: TenantSettings,
    states: Type.Array(State),
    rate_cards: Type.Array(RateCard),
    merchants: Type.Array(Merchant),
    /** With `moves` in every entry a whole new set, without them new names and colours of the set that is there. */
    statuses: Type.Optional(Type.Array(StatusEntry, { minItems: 1 })),
  },
  strict,
)
export type TenantFile = Static<typeof TenantFile>
