import type { ParcelPaths } from '../catalogue/price-parcels.ts'

/** Of a bulk body. */
export const batchPaths: ParcelPaths = { origin: 'general_data.', destination: index => `order_data.${index}.` }
