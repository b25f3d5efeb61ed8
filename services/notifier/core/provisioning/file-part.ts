import type { Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { closed } from '@courier/shared/schemas.ts'
import type { TProperties } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'
import type { Rule } from '../events/queries.ts'
import { type GivenRule, NotifierFile } from './notifier-file.ts'

export type Add = (path: string, sentence: string) => void

/** Adds to the company file. The functions get the file with the fields of the part; methods let them say so. */
export interface FilePart {
  /** Adds fields to the file itself, such as `tariffs`. */
  readonly file?: TProperties
  /** Adds fields to `tenant`. */
  readonly tenant?: TProperties
  /** Adds fields to each of `rules`. */
  readonly rule?: TProperties
  /** Returns the columns of a rule that follow from them. */
  toColumns?(rule: GivenRule): Partial<Rule>
  /** Adds what is wrong with a file whose shape is right, by its path. */
  check?(file: NotifierFile, add: Add): void
  /** Stores what locks templates (docs/contributors/decisions.md#order-of-locks). */
  beforeRules?(tx: Tx, file: NotifierFile): Promise<readonly Change[]>
  /** Stores the rest; returns the changes, or errors by the path of the file. */
  afterRules?(tx: Tx, file: NotifierFile): Promise<{ changes: readonly Change[] } | { errors: FieldErrors }>
}

export type FileParts = readonly FilePart[]

export const coreFile: FileParts = []

/** Returns the schema of the file with the fields of all parts. */
export const defineFile = (parts: FileParts): typeof NotifierFile => {
  const { tenant, rules, ...others } = NotifierFile.properties
  const add = (place: 'file' | 'tenant' | 'rule') => Object.assign({}, ...parts.map(part => part[place]))
  return closed({
    tenant: closed({ ...tenant.properties, ...add('tenant') }),
    ...others,
    rules: { ...rules, items: closed({ ...rules.items.properties, ...add('rule') }) },
    ...add('file'),
  }) as unknown as typeof NotifierFile
}
