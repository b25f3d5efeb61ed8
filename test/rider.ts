import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Test } from 'tap'
import { openAddress } from './browser.ts'

export const riderPassword = 'riders-of-tests'
const phone = { width: 390, height: 844 }

/** Opens a phone: pages of one browser that share what it stores. `problems` lists the problems of all pages. */
export const openPhone = async (t: Test, browser: Browser, url: string, language = 'en', more = {}) => {
  const context = await browser.newContext({ viewport: phone, ...more })
  t.teardown(() => context.close())
  await context.addInitScript(
    `localStorage.setItem('courier.language', localStorage.getItem('courier.language') ?? '${language}')`,
  )
  const problems: string[] = []
  const open = async (path = ''): Promise<Page> => {
    const page = await context.newPage()
    page.on('pageerror', error => problems.push(error.message))
    await openAddress(page, `${url}/rider/${path}`)
    return page
  }
  return { context, open, problems }
}

export const signInRider = async (page: Page, email: string, password = riderPassword): Promise<void> => {
  for (const [id, value] of Object.entries({ tenant: 'demo', email, password }))
    await page.locator(`#${id}`).fill(value)
  await page.keyboard.press('Enter')
  await page.locator('.totals').waitFor()
}

/** Waits until the page opens without a network. */
export const waitForWorker = (page: Page): Promise<unknown> =>
  page.evaluate('navigator.serviceWorker.ready.then(() => true)')

export const openParcel = async (page: Page, waybill: string): Promise<void> => {
  await page.locator(`.stop[data-waybill="${waybill}"] .open`).click()
  await page.getByRole('heading', { name: waybill }).waitFor()
}

/** Opens the form of an act of the open parcel. */
export const openForm = (page: Page, kind: 'deliver' | 'fail' | 'hand_back'): Promise<void> =>
  page.locator('.acts .button').nth(['deliver', 'fail', 'hand_back'].indexOf(kind)).click()

/** Confirms the open form, and waits for the list. */
export const confirm = async (page: Page): Promise<void> => {
  await page.locator('form .button.primary').click()
  await page.locator('.totals').waitFor()
}

/** Waits until the page says that everything is sent. */
export const waitForSent = (page: Page): Promise<void> =>
  page.locator('.strip.good').getByText('Everything is sent.').waitFor({ timeout: 60_000 })

/** Loses the response to the next acts that are sent; the service has applied them. */
export const loseResponse = async (context: BrowserContext): Promise<void> => {
  let isLost = false
  await context.route('**/rider/acts', async route => {
    if (isLost) return route.fallback()
    isLost = true
    await route.fetch().catch(() => undefined)
    await route.abort()
  })
}
