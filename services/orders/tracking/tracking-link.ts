import { hash } from 'node:crypto'
import type { Catalogue } from '../catalogue/catalogue.ts'

/**
 * Signs the link to a parcel's page with 66 bits: waybill numbers can be guessed, so only the link that recipients get
 * shows the amount and the city.
 */
export const signWaybill = ({ linkKey }: Pick<Catalogue, 'linkKey'>, waybill: string): string =>
  hash('sha256', linkKey + waybill, 'base64url').slice(0, 11)

/** The page of a parcel, by its signed link. */
export const writeTrackingUrl = (publicUrl: string, catalogue: Catalogue, waybill: string): string =>
  `${publicUrl.replace(/\/$/, '')}/t/${catalogue.tenant}/${encodeURIComponent(waybill)}/${signWaybill(catalogue, waybill)}`
