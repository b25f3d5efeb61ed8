import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type ConsoleMessage, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { share } from '../dev/test-database.ts'

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string }[] }[]
}

const chromiums = [process.env.CHROME, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Draws no windows, which takes a third less CPU; it knows no preferences of a person. */
const headlessShell = '/usr/bin/chromium-headless-shell'
const findProgram = (paths: readonly (string | undefined)[]) =>
  paths.filter(path => path !== undefined).find(path => existsSync(path))
const executablePath = findProgram([process.env.CHROME, headlessShell, ...chromiums])
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A separate GPU process costs more CPU. Browsers trust no page of a name below `lan`, unlike one of 127.0.0.1. */
const args = ['--no-sandbox', '--in-process-gpu', '--host-resolver-rules=MAP *.lan 127.0.0.1']

const shareBrowser = share(async (end): Promise<Browser> => {
  const browser = await chromium.launch({ executablePath: String(executablePath), args })
  end.teardown(() => browser.close())
  return browser
})

/**
 * Returns the Chromium that the tests of this process share, each with contexts of its own. Where it is not installed,
 * returns undefined and skips the test.
 */
export const launchBrowser = async (t: Test): Promise<Browser | undefined> => {
  if (executablePath) return shareBrowser(t)
  t.pass('', { skip: 'no Chromium here: name one in CHROME' })
  return undefined
}

/** Launches a Chromium whose person forbids every site to store anything. */
export const launchWithoutStorage = async (t: Test): Promise<BrowserContext> => {
  const profile = { default_content_setting_values: { cookies: 2 } }
  const folder = mkdtempSync(join(tmpdir(), 'courier-test-profile-'))
  mkdirSync(join(folder, 'Default'))
  writeFileSync(join(folder, 'Default', 'Preferences'), JSON.stringify({ profile }))
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: String(findProgram(chromiums)),
    args: ['--no-sandbox'],
  })
  t.teardown(async () => {
    await context.close()
    // Chromium still writes to its profile for a moment after it has closed.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  return context
}

/** Is in what Chromium says when containers of another test come or go: the page has no part in that. */
const networkChanged = 'net::ERR_NETWORK_CHANGED'

/** Returns true for an error in the browser's console that is the page's own. */
export const isError = (message: ConsoleMessage): boolean =>
  message.type() === 'error' && !message.text().includes(networkChanged)

/** Opens an address, again if a change of this machine's network interrupts that. */
export const openAddress = async (page: Page, url: string): Promise<void> => {
  let isLost = false
  page.on('requestfailed', request => (isLost ||= request.failure()?.errorText === networkChanged))
  for (let tries = 0; tries < 5; tries++) {
    isLost = false
    const opening = tries > 0 && page.url().startsWith('http') ? page.reload() : page.goto(url)
    const failure = await opening.then(
      () => undefined,
      (error: Error) => error,
    )
    if (failure && !failure.message.includes(networkChanged)) throw failure
    if (!failure && !isLost) return
  }
}

/** Opens a page that records every problem in `problems`, including requests to other origins. */
export const openPage = async (t: Test, browser: Browser, url: string, width = 1280) => {
  const problems: string[] = []
  const page: Page = await browser.newPage({ viewport: { width, height: 844 } })
  t.teardown(() => page.close())
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => isError(message) && problems.push(message.text()))
  page.on('request', request => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin)
      problems.push(`requests ${request.url()}`)
  })
  await openAddress(page, url)
  return { page, problems }
}

/** Returns the problems that axe calls serious or critical. */
export const findBarriers = async (page: Page): Promise<string[]> => {
  if (await page.evaluate('!window.axe')) await page.evaluate(axe)
  // The rules for which `preload` requests files again are experimental, which do not run, or moderate.
  const { violations } = await page.evaluate<AxeResult>(`(() => {
    const mild = axe._audit.rules.filter(({ impact }) => impact === 'minor' || impact === 'moderate')
    const rules = Object.fromEntries(mild.map(({ id }) => [id, { enabled: false }]))
    return axe.run({ resultTypes: ['violations'], preload: false, rules })
  })()`)
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  return serious.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** Checks that a screen fits both widths and has no barriers. With SCREENSHOTS, saves pictures of the screen. */
export const showScreen = async (t: Test, page: Page, screen: string): Promise<void> => {
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 844 })
    t.ok((await measureWidth(page)) <= width, `${screen} fits ${width} px`)
    if (process.env.SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/${screen}-${width}.png`, fullPage: true })
  }
  await page.setViewportSize({ width: 1280, height: 844 })
  t.strictSame(await findBarriers(page), [], screen)
}

/** Returns the width that the page needs, in pixels. */
export const measureWidth = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth')
