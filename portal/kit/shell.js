// Builds the frame of a face: the sign-in form, the menu, the open screen.

import { instead } from './actions.js'
import { callOrders, readSettings, watchWaiting } from './api.js'
import { getLanguage, languages, readLanguage, setLanguage, t } from './i18n.js'
import { html, render, useEffect, useLayoutEffect, useRef, useState } from './preact.js'
import { borrowSession, changeSession, may, useSession } from './session.js'
import { SignIn } from './sign-in.js'
import { LinkPage, readLink } from './sign-in-links.js'

/**
 * Maps the first part of the address after `#/` to a screen; any other address opens the first screen. A screen is not
 * there for a person who may not use the operation that it `needs`; the menu also omits a screen if `isHidden` is set.
 * A screen gets its `title`, by default the text `menu.` and its name, `params` (the other parts) and `query`.
 * @typedef {Record<string, { Screen: any, needs?: string, isHidden?: boolean, title?: () => string }>} Screens
 * @typedef {{ screens: Screens, readMe: (options?: object) => Promise<any>, Search?: any }} Face
 */

/** Parses an address such as `#/parcel/DM00000001?x=y`. @param {string} hash @param {Screens} screens */
const readHash = (hash, screens) => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [name, ...params] = path.split('/').map(part => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  return {
    name: Object.hasOwn(screens, name) ? name : Object.keys(screens)[0],
    params,
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

const getTitle = (/** @type {Screens} */ screens, /** @type {string} */ name) =>
  screens[name].title?.() ?? t(`menu.${name}`)

/** Selects the screens that the person may use. @param {Screens} screens @returns {Screens} */
const selectOpen = screens =>
  Object.fromEntries(Object.entries(screens).filter(([, { needs }]) => !needs || may(needs)))

const useHash = (/** @type {Screens} */ screens) => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const listener = () => setHash(location.hash)
    addEventListener('hashchange', listener)
    return () => removeEventListener('hashchange', listener)
  }, [])
  return readHash(hash, screens)
}

const signOut = () => {
  callOrders('/logout', { method: 'POST', body: {} }).catch(() => {})
  changeSession({ token: null, me: null })
}

const Language = ({ onChange }) =>
  html`<select class="quiet" aria-label=${t('language')} value=${getLanguage()}
    onChange=${event => onChange(event.currentTarget.value)}>
    ${Object.entries(languages).map(
      ([name, label]) => html`<option key=${name} value=${name} lang=${name}>
      ${label}</option>`,
    )}
  </select>`

const Top = ({ me, route, onLanguage, screens, Search }) => html`
  <a class="skip" href="#main" onClick=${instead(() => document.getElementById('main')?.focus())}>${t('skip')}</a>
  <header class="top">
    <strong class="brand">${me.tenant.name}</strong>
    ${Search && html`<${Search} query=${route.query} />`}
    <div class="person"><span>${me.name}</span><${Language} onChange=${onLanguage} />
      <button type="button" class="button quiet" onClick=${signOut}>${t('sign_out')}</button></div>
    <nav aria-label=${t('menu')}>
      ${Object.entries(screens)
        .filter(([, { isHidden }]) => !isHidden)
        .map(
          ([name]) =>
            html`<a key=${name} href=${`#/${name}`} aria-current=${name === route.name ? 'page' : undefined}>
              ${getTitle(screens, name)}</a>`,
        )}
    </nav>
  </header>`

/** Moves the focus to the screen's heading when the screen opens, so that screen readers announce it. */
const Main = ({ route, me, screens }) => {
  const main = useRef(/** @type {any} */ (null))
  const { Screen } = screens[route.name]
  const place = [route.name, ...route.params].join('/')
  const heading = () => main.current.querySelector('h1') ?? main.current
  useLayoutEffect(() => {
    document.title = `${heading().textContent} · ${me.tenant.name}`
  }, [place, route.query.q, getLanguage()])
  useLayoutEffect(() => heading().focus(), [place, route.query.q, me])
  return html`<main id="main" tabindex="-1" ref=${main}>
    <${Screen} key=${place} title=${getTitle(screens, route.name)} params=${route.params} query=${route.query} />
  </main>`
}

/** Says that a service has not responded for five seconds. The element is always there: screen readers watch it. */
const Waiting = () => {
  const [isWaiting, setIsWaiting] = useState(false)
  useEffect(() => watchWaiting(setIsWaiting), [])
  return html`<div class="waiting" role="status">${isWaiting && html`<p class="notice">${t('waiting')}</p>`}</div>`
}

const App = (/** @type {{ face: Face }} */ { face }) => {
  const { readMe, Search } = face
  const { token, me } = useSession()
  const screens = selectOpen(face.screens)
  const route = useHash(screens)
  const [, setShown] = useState(getLanguage())
  const [error, setError] = useState(/** @type {any} */ (undefined))
  const [link, setLink] = useState(readLink)
  const [opened, setOpened] = useState(/** @type {{ notice?: string, error?: any }} */ ({}))
  // Reads who is signed in before anything is shown.
  useEffect(() => {
    if (token && !me && !link) readMe().then(me => changeSession({ me }), setError)
  }, [token])
  const onLanguage = (/** @type {string} */ name) => setLanguage(name).then(() => setShown(name))
  if (link)
    return html`<${LinkPage} link=${link} readMe=${readMe} onDone=${(/** @type {object} */ result) => {
      setOpened(result)
      setLink(undefined)
    }} /><${Waiting} />`
  if (!me)
    return html`<${SignIn} readMe=${readMe} error=${token ? error : opened.error}
      notice=${opened.notice} isOpening=${Boolean(token) && !error}>
      <${Language} onChange=${onLanguage} /><//><${Waiting} />`
  // The open screen stays behind the form until somebody else signs in.
  return html`
    ${!token && html`<${SignIn} readMe=${readMe} isExpired><${Language} onChange=${onLanguage} /><//>`}
    <div key=${`${me.tenant.id} ${me.name} ${me.email}`} class="console" hidden=${!token}>
      <${Top} me=${me} route=${route} onLanguage=${onLanguage} screens=${screens} Search=${Search} />
      <${Main} route=${route} me=${me} screens=${screens} />
    </div><${Waiting} />`
}

/** Shows a face, once its texts and settings are loaded. @param {Face} face */
export const show = async face => {
  if (document.documentElement.dataset.lacks) return
  await Promise.all([readSettings(), setLanguage(readLanguage()), borrowSession()])
  render(html`<${App} face=${face} />`, /** @type {Element} */ (document.getElementById('app')))
  document.getElementById('late')?.remove()
}
