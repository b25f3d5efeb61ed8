// Runs in the browser, after Swagger UI's bundle.
const { reference, warning } = document.body.dataset

/** Asks before anything is changed: what is sent from the page is real. */
const askFirst = event => {
  const request = event.target.closest?.('.btn.execute')?.closest('.opblock')
  const textOf = part => request.querySelector(`.opblock-summary-${part}`).textContent.trim()
  if (!request || textOf('method') === 'GET') return
  if (request.querySelector('[data-param-name="dry_run"] select')?.value === 'true') return
  if (!window.confirm(`${warning}\n\n${textOf('method')} ${textOf('path')}`)) event.stopPropagation()
}
// Before Swagger UI hears of it.
document.addEventListener('click', askFirst, { capture: true })

if (reference)
  window.SwaggerUIBundle({
    dom_id: '#reference',
    url: reference,
    validatorUrl: null,
    presets: [window.SwaggerUIBundle.presets.apis],
    persistAuthorization: true,
    defaultModelsExpandDepth: -1,
    // Its colours have too little contrast.
    syntaxHighlight: false,
  })

/** What Swagger UI leaves out for those who use the keyboard or a screen reader. */
const assist = () => {
  for (const box of document.querySelectorAll('pre:not([tabindex])')) box.tabIndex = 0
  for (const list of document.querySelectorAll('select:not([aria-label])')) list.setAttribute('aria-label', 'Choose')
  const dialog = document.querySelector('.dialog-ux:not([data-focused])')
  const token = dialog?.querySelector('input')
  if (!token) return
  dialog.dataset.focused = ''
  token.focus()
}
new MutationObserver(assist).observe(document.body, { childList: true, subtree: true })
