// Reads waybill numbers, for the faces that scan.
import { getSession } from './session.js'

/**
 * Finds a waybill in typed text, or in the address in the QR code of one of this company's labels.
 * @param {string} text
 */
export const findWaybill = text => {
  const [, tenant, end = text.trim()] = /^https?:\/\/\S+\/t\/([^/]+)\/([^/?#]+)/i.exec(text.trim()) ?? []
  if (tenant && tenant.toLowerCase() !== getSession().tenant.toLowerCase()) return undefined
  const waybill = decode(end)
  return /^[\x21-\x7e]{1,50}$/.test(waybill) && /[0-9A-Z]/i.test(waybill) ? waybill : undefined
}

/** @param {string} text */
const decode = text => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
