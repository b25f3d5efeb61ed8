import type { Stage } from '../stages.ts'

/** The texts of the page in one language. */
export interface Words {
  /** The language's own name. */
  readonly language: string
  readonly parcel: string
  /** The sender's name. */
  readonly from: string
  readonly to: string
  /** The line that says where to reach the company. */
  readonly contact: string
  readonly pay: string
  readonly nothingToPay: string
  /** The texts for a parcel that exists. */
  readonly stages: Readonly<Record<Stage, { readonly title: string; readonly text: string }>>
  readonly unknown: { readonly title: string; readonly text: string }
}
