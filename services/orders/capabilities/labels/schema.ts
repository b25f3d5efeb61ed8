import { oneOf } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { Day } from '../../core/actions/fields.ts'
import { limitBytes, waybillNumbers } from '../../core/moves/move-schema.ts'
import { layouts } from './label.ts'

export const maxLabels = 500
export const maxLabelBytes = limitBytes(maxLabels)
const WaybillNumbers = waybillNumbers(maxLabels, 'The waybill numbers, in the order of printing.')

const LayoutName = oneOf(layouts, {
  default: '100x150',
  must: `be ${layouts.join(' or ')}`,
  description: '100x150: a label of 100 by 150 mm on each page; a4x4: four on each page of A4.',
})
const Format = Type.Union([Type.Literal('pdf'), Type.Literal('zpl')], {
  default: 'pdf',
  must: 'be pdf or zpl',
  description: 'zpl: for a thermal printer with 203 dots per inch.',
})
export type Format = Static<typeof Format>

export const LabelQuery = Type.Object({ format: Type.Optional(Format), layout: Type.Optional(LayoutName) })

export const LabelRequest = Type.Object(
  { waybill_numbers: WaybillNumbers, layout: Type.Optional(LayoutName), format: Type.Optional(Format) },
  { title: 'LabelRequest', examples: [{ waybill_numbers: ['DM00000001', 'DM00000002'], layout: 'a4x4' }] },
)

export const RunSheetRequest = Type.Object(
  {
    waybill_numbers: Type.Optional(WaybillNumbers),
    reattempts_by: Type.Optional({
      ...Day,
      description: 'Selects, instead of waybill_numbers, the parcels to be delivered again by this day, at most 500.',
    }),
    title: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        default: 'Run sheet',
        description: 'The title, such as the van and the day.',
      }),
    ),
  },
  {
    title: 'RunSheetRequest',
    additionalProperties: false,
    examples: [{ waybill_numbers: ['DM00000001'], title: 'Van 7, 20 February' }],
  },
)
