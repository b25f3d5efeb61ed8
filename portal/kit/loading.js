// Runs before the modules. Says in three languages what an old browser lacks: such a browser runs this file, so that
// its syntax is that of 2015. `oldest` is also in docs/staff/portal.md and portal/tsconfig.json. Loads the page again
// if a file of it was lost on the way, such as when a phone changes its network.
{
  const oldest = ['109', '115', '16.4']
  const has = (/** @type {() => unknown} */ find) => {
    try {
      return Boolean(find())
    } catch (_) {
      return false
    }
  }
  /** Lists what the pages use and a browser of the last years may lack, each with its test. */
  const needed = /** @type {[string, () => unknown][]} */ ([
    ['Object.hasOwn', () => Object.hasOwn],
    ['Array.at', () => [].at],
    ['String.replaceAll', () => ''.replaceAll],
    ['AbortSignal.timeout', () => AbortSignal.timeout],
    ['Intl.supportedValuesOf', () => Intl.supportedValuesOf],
    ['DecompressionStream', () => new DecompressionStream('deflate-raw')],
    ['RegExp (?<=)', () => /(?<=a)b/],
    ['requestSubmit', () => HTMLFormElement.prototype.requestSubmit],
    ['crypto.getRandomValues', () => crypto.getRandomValues],
  ])
  const say = (/** @type {string} */ what, /** @type {string[]} */ [chrome, firefox, safari]) => [
    `This browser is too old for this page: it lacks ${what}. Update it, or use Chrome or Edge ${chrome}, Firefox
      ${firefox}, Safari ${safari} or later.`,
    `මෙම බ්‍රවුසරය මෙම පිටුවට පැරණි වැඩියි: එහි ${what} නැත. එය යාවත්කාලීන කරන්න, නැතහොත් Chrome හෝ Edge ${chrome}, Firefox
      ${firefox}, Safari ${safari} හෝ ඊට අලුත් එකක් භාවිත කරන්න.`,
    `இந்த உலாவி இந்தப் பக்கத்திற்கு மிகப் பழையது: இதில் ${what} இல்லை. இதைப் புதுப்பிக்கவும், அல்லது Chrome அல்லது Edge ${chrome},
      Firefox ${firefox}, Safari ${safari} அல்லது அதற்குப் புதியதைப் பயன்படுத்தவும்.`,
  ]
  const lacking = needed.filter(([, find]) => !has(find)).map(([name]) => name)
  const late = document.getElementById('late')
  if (late && lacking.length > 0) {
    document.documentElement.dataset.lacks = lacking.join(', ')
    late.textContent = ''
    say(lacking.join(', '), oldest).forEach((text, index) => {
      const line = late.appendChild(document.createElement('p'))
      line.lang = ['en', 'si', 'ta'][index]
      line.textContent = text
    })
  }

  const isReloaded = () => {
    const [opening] = performance.getEntriesByType('navigation')
    return /** @type {PerformanceNavigationTiming | undefined} */ (opening)?.type === 'reload'
  }
  let timer = 0
  /** Loads once the service responds: until then, what is in sight says more than the browser's own error page. */
  const loadAgain = () => {
    const reload = (/** @type {Response} */ { ok }) => (ok ? location.reload() : plan(20))
    timer = 0
    if (document.getElementById('late')) fetch(location.pathname, { cache: 'no-store' }).then(reload, () => plan(20))
  }
  const plan = (/** @type {number} */ seconds) => {
    timer = timer || window.setTimeout(loadAgain, seconds * 1000)
  }
  // The text in sight until the page starts also says that it does not.
  const onError = () => late && lacking.length === 0 && document.contains(late) && plan(isReloaded() ? 20 : 2)
  addEventListener('error', onError, true)
  addEventListener('unhandledrejection', onError)
}
