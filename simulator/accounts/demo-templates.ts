import { type Template, type TemplateComponent, toKey } from './template.ts'

const body = (text: string): TemplateComponent => ({ type: 'BODY', text })
const footer: TemplateComponent = { type: 'FOOTER', text: 'Reply STOP to hear no more from us' }

const utility = (id: string, name: string, components: TemplateComponent[]): Template => ({
  id,
  name,
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components,
  quality_score: { score: 'GREEN' },
})

/** Lists the templates of every account: four for the stages of a parcel, then others for further features and uses. */
const templates: Template[] = [
  utility('1387372356726601', 'order_created', [
    { type: 'HEADER', format: 'TEXT', text: 'Parcel {{1}}', example: { header_text: ['DM00000001'] } },
    body('Hello {{1}}, {{2}} has booked a parcel for you. To pay the rider: {{3}}.'),
    footer,
    { type: 'BUTTONS', buttons: [{ type: 'QUICK_REPLY', text: 'Stop messages' }] },
  ]),
  utility('1387372356726602', 'order_out_for_delivery', [
    body('Hello {{1}}, your parcel {{2}} is with our rider and reaches you today.'),
  ]),
  utility('1387372356726603', 'order_delivered', [body('Hello {{1}}, your parcel {{2}} was delivered. Thank you!')]),
  utility('1387372356726604', 'order_cancelled', [body('Hello {{1}}, your parcel {{2}} was cancelled.')]),
  {
    ...utility('1387372356726605', 'delivery_feedback', [body('Hello {{1}}, how was the delivery of {{2}}?')]),
    status: 'PAUSED',
    quality_score: { score: 'RED' },
  },
  {
    ...utility('1387372356726619', 'login_code', [
      body('{{1}} is your code.'),
      {
        type: 'BUTTONS',
        buttons: [{ type: 'URL', text: 'Copy code', url: 'https://www.whatsapp.com/otp/code/?code=otp{{1}}' }],
      },
    ]),
    category: 'AUTHENTICATION',
  },
  {
    ...utility('1387372356726606', 'weekend_offer', [body('Hello {{1}}, send two parcels and pay for one.')]),
    status: 'REJECTED',
    category: 'MARKETING',
    rejected_reason: 'INVALID_FORMAT',
  },
  utility('1387372356726607', 'parcel_photo', [
    { type: 'HEADER', format: 'IMAGE' },
    body('Hello {{1}}, we left your parcel where the picture shows.'),
  ]),
  {
    // The id exceeds what a JSON number holds exactly, yet the webhook sends a number
    // (docs/contributors/messaging-api.md#template-events).
    ...utility('13873723567266081', 'pickup_reminder', [
      body('Hello {{customer_name}}, we collect your parcel on {{pickup_date}}.'),
    ]),
    parameter_format: 'NAMED',
  },
  utility('1387372356726609', 'parcel_tracking', [
    body('Hello {{1}}, follow your parcel with the button below.'),
    { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Track', url: 'https://courier.example/track/{{1}}' }] },
  ]),
  utility('1387372356726610', 'delivery_options', [
    body('Hello {{1}}, your parcel {{2}} comes tomorrow. Is that right?'),
    {
      type: 'BUTTONS',
      buttons: ['Confirm', 'Cancel it', 'Change address', 'Call me'].map(text => ({ type: 'QUICK_REPLY', text })),
    },
  ]),
  utility('1387372356726611', 'delivery_failed', [
    body('Hello {{1}}, we could not deliver your parcel {{2}}. When may we come again?'),
    {
      type: 'BUTTONS',
      buttons: ['Tomorrow', 'Another day', 'New address', 'Return it'].map(text => ({ type: 'QUICK_REPLY', text })),
    },
  ]),
  utility('1387372356726612', 'invoice_paid', [
    body('Hello {{1}}, your invoice {{2}} is paid: {{3}} on {{4}}. Thank you!'),
  ]),
]

/** Maps keys made by `toKey` to the templates, in the order of the list. */
export const catalogue: ReadonlyMap<string, Template> = new Map(templates.map(template => [toKey(template), template]))
