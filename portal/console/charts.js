// Draws charts in SVG, each with a table for screen readers: the counts of each day, or of each hour.
import { day, minuteOfDay, number, t } from '../kit/i18n.js'
import { html } from '../kit/preact.js'

const FigureTable = ({ title, head, rows }) =>
  html`<div class="hidden"><table>
    <caption>${title}</caption>
    <thead><tr>${head.map(name => html`<th key=${name} scope="col">${name}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([name, ...values]) => html`<tr key=${name}><th scope="row">${name}</th>
      ${values.map((value, index) => html`<td key=${index}>${number(value)}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`

const series = ['created', 'delivered', 'failed']

/**
 * Draws three bars for each day.
 * @param {{ days: { date: string, created: number, delivered: number, failed: number }[] }} props
 */
export const DaysChart = ({ days }) => {
  const top = Math.max(4, ...days.flatMap(each => series.map(name => each[name])))
  const height = (/** @type {number} */ value) => (value / top) * 100
  const nameDay = each => day(`${each.date}T12:00:00Z`, 'UTC')
  return html`<figure class="chart">
    <p class="legend" aria-hidden="true">
      ${series.map(name => html`<span key=${name} class=${name}>${t(`today.${name}`)}</span>`)}
      <span class="scale">${t('today.most', { count: number(top) })}</span></p>
    <svg viewBox=${`0 0 ${days.length * 16} 100`} preserveAspectRatio="none" aria-hidden="true">
      ${days.map((each, index) =>
        series.map(
          (name, place) => html`<rect key=${`${index} ${name}`} class=${name}
        x=${index * 16 + 1 + place * 4.5} width="4" y=${100 - height(each[name])} height=${height(each[name])}><title>
          ${nameDay(each)}: ${t(`today.${name}`)} ${number(each[name])}</title></rect>`,
        ),
      )}
    </svg>
    <p class="axis" aria-hidden="true"><span>${nameDay(days[0])}</span><span>${nameDay(days.at(-1))}</span></p>
    <${FigureTable} title=${t('today.days')} head=${[t('today.day'), ...series.map(name => t(`today.${name}`))]}
      rows=${days.map(each => [nameDay(each), ...series.map(name => each[name])])} />
  </figure>`
}

const hours = Array.from({ length: 24 }, (_, hour) => hour)
const clock = (/** @type {number} */ hour) => `${String(hour).padStart(2, '0')}:00`

/** Draws a stroke for each minute. @param {{ minutes: { at: string, sent: number }[], zone: string }} props */
export const MinutesChart = ({ minutes, zone }) => {
  const top = Math.max(4, ...minutes.map(({ sent }) => sent))
  const placed = minutes.map(({ at, sent }) => ({ minute: minuteOfDay(at, zone), sent }))
  const strokes = placed.map(({ minute, sent }) => `M${minute + 0.5} 100V${100 - (sent / top) * 100}`)
  const sums = hours.map(hour => {
    const inHour = placed.filter(({ minute }) => Math.floor(minute / 60) === hour).map(({ sent }) => sent)
    return [clock(hour), inHour.reduce((sum, sent) => sum + sent, 0), Math.max(0, ...inHour)]
  })
  return html`<figure class="chart">
    <p class="legend" aria-hidden="true"><span class="delivered">${t('today.sent')}</span><span class="scale">
      ${t('today.most', { count: number(top) })}</span></p>
    <svg viewBox="0 0 1440 100" preserveAspectRatio="none" aria-hidden="true">
      <path class="sent" d=${strokes.join('')} /></svg>
    <p class="axis" aria-hidden="true">
      ${[0, 6, 12, 18, 24].map(hour => html`<span key=${hour}>${clock(hour)}</span>`)}</p>
    <${FigureTable} title=${t('today.minutes')} head=${[t('today.hour'), t('today.sent'), t('today.busiest')]}
      rows=${sums.filter(([, sent]) => Number(sent) > 0)} />
  </figure>`
}
