import { closed, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { bookings } from '../statuses/statuses.ts'

export const Name = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '\\S',
  must: 'be a text of 1 to 255 characters',
})
const Id = Type.Integer({ minimum: 1, maximum: 2147483647, must: 'be an integer from 1 to 2147483647' })
const Key = Type.String({
  maxLength: 63,
  pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
  must: 'be 1 to 63 of a-z, 0-9, _ and -',
})
export const Price = Type.Number({
  minimum: 0,
  maximum: 9_999_999_999.99,
  must: 'be an amount from 0 to 9999999999.99',
})

const Check = oneOf(['refuse', 'warn', 'off'], { must: 'be refuse, warn or off' })

const TenantSettings = closed({
  id: Key,
  name: Name,
  currency: Type.String({ maxLength: 3, pattern: '^[A-Z]{3}$', must: 'be a currency code such as LKR' }),
  country: Type.String({ maxLength: 2, pattern: '^[A-Z]{2}$', must: 'be a country code such as LK' }),
  time_zone: Type.String({ minLength: 1, maxLength: 64, must: 'be a time zone such as Asia/Colombo' }),
  waybills: closed({
    mode: oneOf(['auto', 'manual'], { must: 'be auto or manual' }),
    format: Type.String({
      pattern: '^[\\x21\\x22\\x24-\\x29\\x2b-\\x3f\\x41-\\x7e]*[#@*][\\x21-\\x7e]*$',
      maxLength: 50,
      must: 'be at most 50 printable ASCII characters without blanks, at least one of them #, @ or *',
    }),
  }),
  secondary_phone: Type.Optional(Type.Boolean()),
  /** Gives recipients the company's phone number. */
  contact: Type.Optional(Name),
  /** false: the notifier gets no events of the company's orders. */
  messaging: Type.Optional(Type.Boolean()),
  /** Sets how doubtful but valid input is treated; the default is `warn`. */
  checks: Type.Optional(
    closed({ phone: Type.Optional(Check), duplicate: Type.Optional(Check), unusual: Type.Optional(Check) }),
  ),
})

const City = closed({
  id: Id,
  name: Name,
  postal_code: Type.Optional(Type.String({ minLength: 1, maxLength: 20 })),
  /** Lists other names that merchants may book by. */
  aliases: Type.Optional(Type.Array(Name, { maxItems: 20 })),
})
const State = closed({ id: Id, name: Name, cities: Type.Array(City) })

const RateCard = closed({
  name: Name,
  zones: Type.Record(
    Type.String(),
    Type.Union([Type.Array(Id), Type.Literal('*')], { must: 'list city ids, or be "*" for all other cities' }),
  ),
  rates: Type.Array(closed({ from: Name, to: Name, first_kg: Price, each_extra_kg: Price })),
})

const Business = closed({ id: Id, name: Name, default: Type.Optional(Type.Boolean()) })

const Email = Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 255, must: 'be an e-mail address' })

const Merchant = closed({
  /** Identifies the merchant under any e-mail address; new merchants have no id. */
  id: Type.Optional(Id),
  name: Name,
  email: Email,
  /** Holds the previous e-mail address. */
  was: Type.Optional(Email),
  /** undefined: a new merchant is active, and an existing one stays active or deactivated. */
  active: Type.Optional(Type.Boolean()),
  password: Type.String({ minLength: 8, maxLength: 255, must: 'be 8 to 255 characters long' }),
  rate_card: Type.Optional(orNull(Name)),
  businesses: Type.Array(Business),
})

const StatusEntry = closed({
  key: Key,
  name: Type.Optional(Name),
  color: Type.Optional(
    Type.String({ maxLength: 30, pattern: '^[a-z][a-z-]{0,29}$', must: 'be the name of a colour such as success' }),
  ),
  description: Type.Optional(Type.String({ maxLength: 255 })),
  moves: Type.Optional(Type.Array(Key)),
  /** Sets what a move to the status books; by default its key decides. */
  books: Type.Optional(oneOf(bookings, { must: `be one of ${bookings.join(', ')}` })),
})

/** Describes a tenant in one file, as `orders apply` reads it. */
export const TenantFile = closed({
  tenant: TenantSettings,
  states: Type.Array(State),
  rate_cards: Type.Array(RateCard),
  merchants: Type.Array(Merchant),
  /** Defines a new set if every entry has `moves`; without `moves`, changes the other fields of the current set. */
  statuses: Type.Optional(Type.Array(StatusEntry, { minItems: 1 })),
})
export type TenantFile = Static<typeof TenantFile>

/** Describes merchants of an existing tenant. The rest of the tenant stays, and so does an omitted password. */
export const MerchantsFile = closed({
  tenant: closed({ id: Key }),
  merchants: Type.Array(closed({ ...Merchant.properties, password: Type.Optional(Merchant.properties.password) }), {
    minItems: 1,
  }),
})
export type MerchantsFile = Static<typeof MerchantsFile>
