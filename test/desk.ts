import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import { isError, openAddress, showScreen } from './browser.ts'
import { waitUntil } from './courier.ts'

/** Opens tabs of one browser at the desk, signed in. `problems` lists the problems of all tabs. */
export const openDesk = async (t: Test, browser: Browser, url: string) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 844 }, acceptDownloads: true })
  await context.addInitScript(
    `localStorage.setItem('courier.language', localStorage.getItem('courier.language') ?? 'en')`,
  )
  t.teardown(() => context.close())
  const problems: string[] = []
  const open = async (email = 'shop@example.com', password = 'lanka-shoes-demo'): Promise<Page> => {
    const page = await context.newPage()
    page.on('pageerror', error => problems.push(error.message))
    page.on('console', message => isError(message) && problems.push(message.text()))
    await openAddress(page, url)
    await page.getByLabel('Company').fill('demo')
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Upload', exact: true }).waitFor()
    return page
  }
  return { open, problems }
}

export const showDesk = (t: Test, page: Page, screen: string): Promise<void> => showScreen(t, page, `desk-${screen}`)

/** Checks a screen in the other languages. `shown` selects an element that the screen shows. */
export const showInLanguages = async (t: Test, page: Page, screen: string, shown: string): Promise<void> => {
  for (const language of ['si', 'ta']) {
    await page.getByRole('combobox').first().selectOption(language)
    await page.locator(shown).first().waitFor()
    await showDesk(t, page, `${screen}-${language}`)
  }
  await page.getByRole('combobox').first().selectOption('en')
}

export const chooseOrigin = async (page: Page): Promise<void> => {
  const origin = page.getByRole('combobox', { name: 'Parcels start in' })
  await origin.fill('Kotte')
  await page.locator('#origin-options option').first().waitFor({ state: 'attached' })
  await origin.fill('Kotte, Colombo')
  await origin.blur()
}

/** Fills in a parcel to Galle, without its COD and weight. */
export const fillParcel = async (page: Page): Promise<void> => {
  await page.getByLabel('Recipient').fill('Saman Kumara')
  await page.getByLabel('Phone', { exact: true }).fill('0770000109')
  await page.getByLabel('Address').fill('9 Hill Street')
  await page.getByLabel('City').fill('Galle')
  await page.locator('#book-destination_city_id-options option').first().waitFor({ state: 'attached' })
  await page.getByLabel('City').fill('Galle, Galle')
}

/** Uploads a file of `rows` rows, whose order numbers begin with B-, and has the desk check them. */
export const uploadRows = async (page: Page, rows: number): Promise<void> => {
  const lines = Array.from(
    { length: rows },
    (_, n) => `B-${n},Nimali Perera,12 Temple Road,Galle,07${10_000_000 + n},100`,
  )
  await page.getByLabel('File (Excel, CSV or TSV)').setInputFiles({
    name: 'rows.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(['Order no,Name,Address,City,Phone,COD', ...lines].join('\n')),
  })
  await page.getByRole('button', { name: `Read ${(rows + 1).toLocaleString('en')} rows` }).click()
  if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
  await page.getByRole('button', { name: 'Check the rows' }).click()
  await page.locator('strong', { hasText: `Ready to book: ${rows.toLocaleString('en')}.` }).waitFor({ timeout: 60_000 })
}

/** Emulates a slow network. `latency` is the milliseconds until a response begins. */
export const slowDown = async (page: Page, bytesPerSecond: number, latency: number): Promise<void> => {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const throughput = { downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond }
  await session.send('Network.emulateNetworkConditions', { offline: false, latency, ...throughput })
}

interface Load {
  /** Counts the milliseconds until the first text appears. */
  readonly paint: number
  /** Counts all bytes from the network, with headers. */
  readonly bytes: number
  readonly files: string[]
}

export const readLoad = async (page: Page): Promise<Load> => {
  // The page's content policy forbids the script of waitForFunction.
  const countPaints = () => page.evaluate<number>(`performance.getEntriesByName('first-contentful-paint').length`)
  await waitUntil('the page is painted', countPaints, paints => paints > 0)
  return page.evaluate<Load>(`(() => {
    const entries = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    return {
      paint: Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime),
      bytes: entries.reduce((sum, { transferSize }) => sum + transferSize, 0),
      files: entries.map(({ name }) => name),
    }
  })()`)
}

/** Pastes rows, names the columns as the desk proposes, and has the rows checked. */
export const checkSheet = async (page: Page, text: string): Promise<void> => {
  await page.getByRole('textbox', { name: 'Rows' }).fill(text)
  await page.getByRole('button', { name: /^Read/ }).click()
  if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
  await page.getByRole('button', { name: 'Check the rows' }).click()
  await page.locator('strong', { hasText: 'Ready to book' }).waitFor()
}

export const waitForReady = (page: Page, count: number): Promise<void> =>
  page.locator('strong', { hasText: `Ready to book: ${count}.` }).waitFor()

export const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

/** Books the rows that are ready, returns the orders of the request, and leaves the page ready for another sheet. */
export const bookRows = async (page: Page): Promise<Record<string, unknown>[]> => {
  const request = page.waitForRequest(each => each.url().endsWith('/order/bulk'))
  await page.getByRole('button', { name: /^Book and confirm/ }).click()
  const { order_data } = (await request).postDataJSON()
  await page.getByText('parcels are booked.').waitFor()
  await page.getByRole('button', { name: 'Upload more' }).click()
  const sure = page.getByRole('button', { name: 'Press again' })
  if (await sure.isVisible()) await sure.click()
  await page.getByRole('textbox', { name: 'Rows' }).waitFor()
  return order_data
}
