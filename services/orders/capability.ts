import type { WithPool } from '@courier/shared/cli/operator-commands.ts'
import type { Worker } from '@courier/shared/edge/run-service.ts'
import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { Command } from 'commander'
import type { FastifyPluginAsync } from 'fastify'
import type pg from 'pg'
import type { CheckLogin } from './core/access/login.ts'
import type { Merchant } from './core/access/merchant.ts'
import type { OnDeactivated } from './core/access/tokens.ts'
import type { BookingPoint } from './core/booking/booking-point.ts'
import type { MissingRate } from './core/catalogue/price-parcels.ts'
import type { Tx } from './core/database/tables.ts'
import type { AddedFilters } from './core/lists/order-filter.ts'
import type { CashPoint, MovePoint } from './core/moves/move-points.ts'
import type { CompanyPart } from './core/provisioning/company-part.ts'
import type { Facet } from './core/tracking/facets.ts'
import type { SnapshotPoint } from './core/tracking/order-snapshot.ts'
import type { Core } from './core.ts'

/**
 * Names the groups of routes. Each has a prefix, a kind of token and a tag of the document: `account`, `webhooks` and,
 * without a prefix, `agents` are a merchant's, like `merchant`; `entry` takes no token, and only the limit of
 * an address holds there. Routes of `signed` check a signature themselves.
 */
export type Audience =
  | 'account'
  | 'merchant'
  | 'webhooks'
  | 'agents'
  | 'public'
  | 'entry'
  | 'signed'
  | 'staff'
  | 'internal'

export type Plugins = readonly FastifyPluginAsync<Core>[]

/** Holds what a capability runs in a process of the service. */
export interface Started {
  /** Lists plugins, which get the core and run inside the group's authentication and limits. */
  readonly routes?: Readonly<Partial<Record<Audience, Plugins>>>
  readonly workers?: readonly Worker[]
  /** Runs after changes of the tenant's orders are committed, and must not throw. */
  readonly onChanged?: (tenant: string) => void
  /** Runs after a merchant's batch or quote was refused because its rate card lacks combinations of cities. */
  readonly onRefused?: (merchant: Pick<Merchant, 'tenant' | 'merchantId'>, missing: readonly MissingRate[]) => void
  /** Runs after a right password: says what else a login lacks. */
  readonly checkLogin?: CheckLogin
  /** Ends what started on its own, once the application takes no more requests. */
  readonly close?: () => Promise<unknown>
  /** Lists what is closed after the workers, such as connections. */
  readonly clients?: readonly { close(): Promise<unknown> }[]
}

/** Reports the secrets of one capability that were sealed again. */
export interface Rotated {
  readonly count: number
  /** Names the count in JSON, such as `accounts`. */
  readonly field: string
  /** Names what was sealed, such as `bank accounts`. */
  readonly what: string
  /** Names what could not be opened and stays as it was. */
  readonly unopened: readonly (Readonly<Record<string, string>> & { tenant: string; reason: string })[]
}

/**
 * Describes a capability: a folder that a setting leaves out, which the core does not know. It may meet the core here
 * and nowhere else (docs/contributors/architecture.md#capabilities). Its row of `capabilities.ts` says,
 * as `holds`, with which stored rows it must not be left out.
 */
export interface Capability {
  /** Creates what its routes and workers share, once for each process. */
  readonly start?: (core: Core) => Started
  /** Describes the requests that it sends, for the document. */
  readonly sends?: Readonly<Record<string, object>>
  /** Reads a field of general_data that the core ignores, and keeps it with the orders that are booked. */
  readonly booking?: BookingPoint
  /** Takes part in moves: fields, checks, writes, and what a take-back undoes. */
  readonly move?: MovePoint
  /** Adds fields to orders that are read. */
  readonly facet?: Facet
  /** Adds what messages to recipients may say, which costs no statement. */
  readonly inMessages?: SnapshotPoint
  /** Adds filters to staff's lists of orders. */
  readonly filters?: AddedFilters
  /** Says which cash members of staff have, to capabilities that work without it. One capability at most has this. */
  readonly cash?: CashPoint
  readonly onDeactivated?: OnDeactivated
  /** Adds fields to the company file. */
  readonly company?: CompanyPart
  /** Lists tasks that run for each tenant in turn, a slice each time. */
  readonly housekeeping?: readonly DeleteExpired[]
  /** Adds commands of the operator. `loaded` are all capabilities, whatever the setting leaves out. */
  readonly addCommands?: (program: Command, withPool: WithPool, loaded: Capabilities) => void
  /** Seals its secrets of all tenants with the newest key, for `keys rotate`. */
  readonly rotateKeys?: (pool: pg.Pool, keyring: Keyring) => Promise<Rotated>
  /** Returns true if the newest key opens one of the tenant's secrets that its id sealed; undefined: there are none. */
  readonly opensNewest?: (tx: Tx, tenant: string, keyring: Keyring) => Promise<boolean | undefined>
  /**
   * Repairs its rows after a restored backup; returns counts of what it skipped, for the report of `restored`. Without
   * `since`, the database of orders was not restored: it changes nothing.
   */
  readonly repair?: (tx: Tx, tenant: string, since: Date | undefined) => Promise<Readonly<Record<string, number>>>
}

export type Capabilities = ReadonlyMap<string, Capability>
