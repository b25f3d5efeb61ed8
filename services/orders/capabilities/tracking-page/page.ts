import { createHash } from 'node:crypto'
import { escapeHtml } from '@courier/shared/escape-html.ts'
import {
  beforePickup,
  classifyStatus,
  failedAttemptKeys,
  findBooking,
  initialStatusKeys,
  type Statuses,
} from '../../core/statuses/statuses.ts'
import type { TrackedOrder } from '../../core/tracking/order-rows.ts'
import type { OrderView } from '../../core/tracking/order-schema.ts'
import { isSigned, toOrder } from '../../core/tracking/order-view.ts'
import { type Language, languages } from './languages/choose.ts'

const steps = ['booked', 'on_its_way', 'out_for_delivery', 'delivered'] as const
type Stage = (typeof steps)[number] | 'partly_delivered' | 'delayed' | 'returned' | 'cancelled'

const outForDeliveryKey = 'key_12'
const partlyDeliveredKey = 'key_14'

const stagesOfBookings = { delivery: 'delivered', partial_delivery: 'partly_delivered', return: 'returned' } as const

/**
 * Returns the stage of a parcel for its recipient. A company's own status means what it books or, if it books nothing,
 * that the parcel is on its way.
 */
export const findStage = (statusKey: string, statuses?: Statuses): Stage => {
  const booking = findBooking(statuses?.get(statusKey))
  if (booking !== 'nothing') return stagesOfBookings[booking]
  if (beforePickup.includes(statusKey)) return 'booked'
  if (statusKey === outForDeliveryKey) return 'out_for_delivery'
  if (statusKey === partlyDeliveredKey) return 'partly_delivered'
  if (failedAttemptKeys.includes(statusKey)) return 'delayed'
  const kind = classifyStatus(statusKey)
  return kind === 'delivered' || kind === 'returned' || kind === 'cancelled' ? kind : 'on_its_way'
}

export interface Parcel extends TrackedOrder {
  /** Is the day, YYYY-MM-DD, that was chosen for the next attempt. */
  readonly nextOn?: string | undefined
  /** Holds the addresses of pictures of the door. */
  readonly pictures?: readonly string[]
}

const countStepsDone = (stage: Stage): number => (stage === 'delayed' ? 2 : steps.indexOf(stage as 'booked') + 1)

/**
 * Renders a page that needs no script and shows where a parcel is, or that there is none. The `code` of the signed link
 * adds amount and city.
 */
export const renderPage = (language: Language, parcel: Parcel | undefined, code?: string) => {
  const words = languages[language]
  const style = writeStyle(parcel?.catalogue.color ?? '#1d4e6b')
  const company = parcel ? `<header>${escapeHtml(parcel.catalogue.company)}</header>` : ''
  const title = parcel
    ? words.stages[findStage(parcel.row.status_key, parcel.catalogue.statuses)].title
    : words.unknown.title
  const html = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
${company}
<main>
${parcel ? renderBody(language, parcel, code) : `<h1>${words.unknown.title}</h1>\n<p>${words.unknown.text}</p>`}
</main>
<footer><nav>${Object.entries(languages).map(createLinkWriter(language)).join(' ')}</nav></footer>
</body>
</html>
`
  const hash = createHash('sha256').update(style).digest('base64')
  const origins = new Set(parcel?.pictures?.map(url => /^https?:\/\/[^/]+/.exec(url)?.[0] ?? "'self'"))
  return {
    html,
    policy: `default-src 'none'; style-src 'sha256-${hash}'; img-src ${['data:', ...origins].join(' ')}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

const createLinkWriter =
  (current: Language) =>
  ([language, words]: [string, { language: string }]): string => {
    const isCurrent = language === current ? ' aria-current="true"' : ''
    return `<a href="?lang=${language}" lang="${language}"${isCurrent}>${words.language}</a>`
  }

const renderBody = (language: Language, parcel: Parcel, code: string | undefined): string => {
  const words = languages[language]
  const { row, catalogue } = parcel
  const hasCode = isSigned(catalogue, row.waybill_number, code)
  const order = toOrder(row, catalogue)
  const stage = findStage(row.status_key, catalogue.statuses)
  const rows = [
    [words.parcel, order.waybill_number],
    [words.from, order.merchant_business_name],
    [words.to, hasCode ? order.destination_city_name : null],
  ].flatMap(([name, text]) => (typeof text === 'string' ? `<dt>${name}</dt><dd>${escapeHtml(text)}</dd>` : []))
  if (catalogue.contact !== null) rows.push(`<dt>${words.contact}</dt><dd>${writeContact(catalogue.contact)}</dd>`)
  return `<h1>${words.stages[stage].title}</h1>
<p>${words.stages[stage].text}</p>
${stage === 'delayed' && parcel.nextOn ? writeNextDay(language, parcel.nextOn) : ''}
${writeSteps(language, stage, parcel)}
${hasCode ? writeAmount(language, stage, order) : ''}
<dl>
${rows.join('\n')}
</dl>
${(parcel.pictures ?? []).map(url => `<img src="${escapeHtml(url)}" alt="${words.photo}">`).join('\n')}`
}

/** Lets a phone number be called with one press. */
const writeContact = (contact: string): string =>
  /^\+?[\d ()/-]{5,30}$/.test(contact)
    ? `<a href="tel:${contact.split('/')[0]?.replace(/[^+\d]/g, '')}">${escapeHtml(contact)}</a>`
    : escapeHtml(contact)

const writeNextDay = (language: Language, day: string): string => {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'full', timeZone: 'UTC' })
  return `<p>${languages[language].nextOn} <time datetime="${day}">${format.format(new Date(day))}</time></p>`
}

/** Lists the steps so far with their times and, for a parcel that will arrive, the next ones. */
const writeSteps = (
  language: Language,
  stage: Stage,
  { row, catalogue: { timeZone, statuses } }: TrackedOrder,
): string => {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone })
  const { timeline, status_key, created_at } = row
  const events = timeline.filter(event => event.is_counted).toReversed()
  // An archived parcel has only the time of its booking.
  const archived = [
    { status_key: initialStatusKeys[0], happened_at: created_at },
    { status_key, happened_at: null },
  ]
  const done = (events.length > 0 ? events : archived)
    .map(({ status_key, happened_at }) => ({
      stage: findStage(status_key, statuses),
      at: happened_at && new Date(happened_at),
    }))
    .filter((step, index, all) => step.stage !== all[index - 1]?.stage)
  const items = done.map(({ stage, at }, index) => {
    const current = index === done.length - 1 ? ' aria-current="step"' : ''
    const time = at ? `<br><time datetime="${at.toISOString()}">${format.format(at)}</time>` : ''
    return `<li class="done"${current}>${languages[language].stages[stage].title}${time}</li>`
  })
  const isOver = stage === 'returned' || stage === 'cancelled' || stage === 'partly_delivered'
  const left = isOver
    ? []
    : steps.slice(countStepsDone(stage)).map(step => `<li>${languages[language].stages[step].title}</li>`)
  return `<ol>${[...items, ...left].join('')}</ol>`
}

const writeAmount = (language: Language, stage: Stage, { cod, currency }: OrderView): string => {
  if (stage === 'delivered' || stage === 'partly_delivered' || stage === 'returned' || stage === 'cancelled') return ''
  const { pay, nothingToPay } = languages[language]
  return cod > 0
    ? `<p class="pay">${pay}: <strong>${escapeHtml(currency)} ${cod.toLocaleString('en')}</strong></p>`
    : `<p class="pay">${nothingToPay}</p>`
}

/** Returns black or white, whichever is easier to read on the colour (WCAG 2.2, relative luminance). */
const chooseTextColor = (color: string): string => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000' : '#fff'
}

const writeStyle = (color: string): string => `
:root{--company:${color};--on:${chooseTextColor(color)};color-scheme:light}
body{margin:0;font:18px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#f4f4f2}
header{padding:16px 20px;background:var(--company);color:var(--on);font-weight:700;overflow-wrap:anywhere}
main{max-width:560px;margin:24px auto;padding:8px 24px 24px;background:#fff;border-radius:12px;overflow-wrap:anywhere}
h1{font-size:1.7em;line-height:1.25;margin:.6em 0 .2em}
ol{list-style:none;margin:24px 0;padding:0;display:grid;gap:0}
li{position:relative;padding:0 0 18px 34px;color:#595959}
li::before{content:"";position:absolute;left:2px;top:5px;width:14px;height:14px;
border:2px solid #767676;border-radius:50%;background:#fff;z-index:1}
li:not(:last-child)::after{content:"";position:absolute;left:10px;top:8px;bottom:-6px;width:2px;background:#c9c9c9}
li.done{color:#1b1b1b;font-weight:600}
li time{font-size:.85em;font-weight:400;color:#595959}
li.done::before{background:#1b1b1b;border-color:#1b1b1b}
.pay{padding:12px 16px;border-left:6px solid var(--company);background:#f4f4f2}
dl{display:grid;grid-template-columns:auto 1fr;gap:4px 16px;margin:0}
dt{color:#595959}dd{margin:0}
img{max-width:100%;margin:16px 0 0;border-radius:8px}
footer{text-align:center;padding:0 0 24px}
footer a{display:inline-block;padding:8px 10px;color:#1b1b1b}
footer a[aria-current]{font-weight:700;text-decoration:none}
`
