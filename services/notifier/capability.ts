import type { WithPool } from '@courier/shared/cli/operator-commands.ts'
import type { Worker } from '@courier/shared/edge/run-service.ts'
import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { Command } from 'commander'
import type { FastifyPluginAsync } from 'fastify'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { ChannelPoint } from './core/channels/channel-point.ts'
import type { EventPoint } from './core/events/process.ts'
import type { WaybillDependencies } from './core/messages/about-waybill.ts'
import type { MessageFacet } from './core/messages/view.ts'
import type { MessagingApi } from './core/messaging-api/client.ts'
import type { WebhookPoint } from './core/platform-webhooks/webhook-point.ts'
import type { FilePart } from './core/provisioning/file-part.ts'
import type { Admission } from './core/sending/admission.ts'
import type { ContentPoint } from './core/sending/sender.ts'
import type { Gauges } from './metrics.ts'

/**
 * Describes a capability: a folder that a setting leaves out, which the core does not know. It may meet the core here
 * and nowhere else (docs/contributors/architecture.md#capabilities). It reads and writes the core's tables through the
 * core's functions and its own queries. Its row of `capabilities.ts` says, as `holds`, with which stored rows it must
 * not be left out.
 */
export interface Capability {
  /** Says which due messages wait, takes what sends use up, joins messages: `account-limits` waits for room. */
  readonly admission?: Admission
  /** Takes part in webhooks: `costs` stores the prices in reports, `account-limits` the news of accounts. */
  readonly webhooks?: WebhookPoint
  /** Takes part in reading numbers: `account-limits` adds the limit and news, and stores what the API says of them. */
  readonly channel?: ChannelPoint
  /** Adds fields to messages that are read: `cost`, for `costs`. */
  readonly message?: MessageFacet
  /** Takes part in processing events: a message of `per-person` leaves before a later one about its parcel. */
  readonly events?: EventPoint
  /** Takes part in writing messages: `customer-actions` seals the actions of buttons. */
  readonly content?: ContentPoint
  /** Adds fields to the company file, with their checks and changes: `per` and `within` of a rule, for `per-person`. */
  readonly file?: FilePart
  /**
   * Creates what its routes and workers share, once for each process. Must not connect to anything. Imports its routes
   * when they are registered: commands load capabilities too, and would pay for them.
   */
  readonly start?: (core: Core) => Started
  /** Adds gauges, which the read of the metrics measures with those of the core. */
  readonly gauges?: Gauges
  /** Deletes expired rows of a tenant, each in a transaction of its own, with those of the core. */
  readonly housekeeping?: readonly DeleteExpired[]
  /** Adds operator's commands, whose actions import what is slow. */
  readonly addCommands?: (program: Command, connect: Connections) => void
}

export interface Started {
  readonly routes?: {
    /** Requires a staff token and the roles of shared/contract/staff-roles.ts; see `admitStaff`. */
    readonly staff?: FastifyPluginAsync
    /** Requires SERVICE_TOKEN. */
    readonly internal?: FastifyPluginAsync
  }
  /** Runs after webhooks are committed, with the counts of what they changed. */
  readonly onWebhooks?: (counts: Readonly<Record<string, number>>) => void
  /** Run beside the application, in any number of processes at once. `stop` finishes the work in progress. */
  readonly workers?: readonly Worker[]
}

/** Holds the parts of the core that `app.ts` creates. */
export interface Core extends WaybillDependencies {
  readonly keyring: Keyring
  readonly api: MessagingApi
  readonly logger: Logger
  readonly registry: Registry
  /** Holds the points of all capabilities at which they take part in events. */
  readonly points: readonly EventPoint[]
  /** Creates a worker that runs now and again, and counts its failures. */
  readonly poll: (name: string, everySeconds: number, run: () => Promise<unknown>) => Worker & { wake(): void }
  /** Is the address at which the messaging API reaches the notifier, if it is set. */
  readonly publicUrl: string | undefined
  /** Wakes the queue; to be called after the commit that queued messages. */
  readonly onQueued: () => void
}

export interface Connections {
  readonly withPool: WithPool
  /** Throws UsageError if the keys are invalid, or the newest does not open what it should. */
  readonly withKeyring: <Result>(action: (pool: pg.Pool, keyring: Keyring) => Promise<Result>) => Promise<Result>
}

export type Capabilities = ReadonlyMap<string, Capability>
