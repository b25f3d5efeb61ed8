// Runs in the browser, beside Swagger UI.
document.head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width, initial-scale=1">')

/** Asks for confirmation before a request that may change something. */
const askFirst = event => {
  const request = event.target.closest?.('.btn.execute')?.closest('.opblock')
  const readText = part => request.querySelector(`.opblock-summary-${part}`).textContent.trim()
  if (!request || readText('method') === 'GET') return
  if (request.querySelector('[data-param-name="dry_run"] select')?.value === 'true') return
  const warning = 'This request is real: what it creates, changes or sends cannot be undone.'
  if (!window.confirm(`${warning}\n\n${readText('method')} ${readText('path')}`)) event.stopPropagation()
}
// Runs before Swagger UI receives the click.
document.addEventListener('click', askFirst, { capture: true })

/** Adds what Swagger UI lacks for people who use the keyboard or a screen reader. */
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
