import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { PASSWORD } from './client.ts'
import { tempFolder } from './temp-folder.ts'

const CHROMIUM = '/usr/bin/chromium-headless-shell'
const ROOT = join(import.meta.dir, '..', '..')
const BUILD_MS = 300_000
/** A guard against waiting for ever, nothing else. */
const WAIT_MS = 300_000
/** Nothing that reaches out of this machine, and nothing that needs a display or more rights. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Is there a browser to test with? Says so when there is none. */
export function hasBrowser(): boolean {
  const isThere = existsSync(CHROMIUM)
  if (!isThere) console.warn(`No ${CHROMIUM} here: the browser tests are skipped.`)
  return isThere
}

export type Browser = AsyncDisposable & {
  page: Page
  /** What the page complained about: script errors, console errors, policy violations, requests to another origin. */
  complaints: string[]
}

/** Builds the dashboard unless it is there as it is written now. */
export async function buildDashboard(): Promise<void> {
  if (isDashboardBuilt()) return
  const build = Bun.spawn([process.execPath, join(ROOT, 'scripts/build-web.ts')], {
    stdout: 'ignore',
    timeout: BUILD_MS,
  })
  if ((await build.exited) !== 0) throw new Error('The dashboard cannot be built')
}

/** Whether what was built is younger than all that it is made of in `web/`. */
function isDashboardBuilt(): boolean {
  const built = statSync(join(ROOT, 'web/dist/index.html'), { throwIfNoEntry: false })
  if (!built) return false
  const files = [...new Bun.Glob('web/**/*.{ts,tsx,css,html,md}').scanSync(ROOT)]
  const sources = files.filter((path) => !path.startsWith('web/dist/'))
  return sources.every((path) => statSync(join(ROOT, path)).mtimeMs <= built.mtimeMs)
}

/**
 * A fresh Chromium with one page, which is expected to stay at `origin`. With `tlsPort` every name leads there, whatever
 * its certificate. Networks of containers that come and go on the machine do not disturb it.
 */
export async function openBrowser(origin: string, { tlsPort }: { tlsPort?: number } = {}): Promise<Browser> {
  const folder = tempFolder()
  const args = tlsPort === undefined ? FLAGS : [...FLAGS, ...leadingTo(tlsPort)]
  const executablePath = writeLauncher(folder.file('deaf-chromium'))
  const context = await chromium.launchPersistentContext(folder.file('profile'), {
    executablePath,
    args,
    timeout: WAIT_MS,
  })
  context.setDefaultTimeout(WAIT_MS)
  const complaints: string[] = []
  return {
    page: await watchedPage(context, origin, complaints),
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Signs a person of `signUp` in on the page of the dashboard at `web`, and waits for their overview. */
export async function signInOnPage(page: Page, web: string, email = 'ada@example.com'): Promise<void> {
  await page.goto(`${web}/login`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
}

/** A program that becomes a Chromium without news of the machine's networks. @returns its path. */
function writeLauncher(path: string): string {
  const command = [process.execPath, join(import.meta.dir, 'programs', 'deaf-browser.ts'), CHROMIUM]
  writeFileSync(path, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(' ')} "$@"\n`, { mode: 0o755 })
  return path
}

function leadingTo(port: number): string[] {
  return [`--host-resolver-rules=MAP * 127.0.0.1:${port}`, '--ignore-certificate-errors']
}

async function watchedPage(context: BrowserContext, origin: string, complaints: string[]): Promise<Page> {
  // In the page's own words, because a violation need not reach the console.
  await context.addInitScript(`document.addEventListener('securitypolicyviolation',
    (event) => console.error('policy violation: ' + event.violatedDirective + ' ' + event.blockedURI))`)
  const page = context.pages()[0] ?? (await context.newPage())
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const isOwn = new URL(request.url()).origin === origin || /^(data|blob):/.test(request.url())
    if (!isOwn) complaints.push(`request to ${request.url()}`)
  })
  return page
}
