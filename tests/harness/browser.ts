import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, type Browser as Chromium, chromium, errors, type Page } from 'playwright-core'
import { PASSWORD } from './client.ts'
import { endAfterFile } from './teardown.ts'
import { tempFolder } from './temp-folder.ts'

/** The first one installed. The headless shell has no window and needs half of the CPU time. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))
const ROOT = join(import.meta.dir, '..', '..')
const BUILD_MS = 300_000
/** Timeout for an element. Long, because several browsers and engines may share two cores. */
const WAIT_MS = 60_000
const DRAWN_MS = 15_000
/**
 * A single expression: Playwright's own waiting functions use `eval`, which the page's content security policy forbids.
 */
const DRAWN = `new Promise((drawn) => {
  const endsAt = performance.now() + ${DRAWN_MS}
  const look = () => {
    const isOver = document.documentElement.scrollWidth <= innerWidth || performance.now() > endsAt
    return isOver ? drawn(null) : requestAnimationFrame(look)
  }
  requestAnimationFrame(() => requestAnimationFrame(look))
})`
/** No requests to other machines, no display and no privileges. */
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

/** Returns whether a browser is installed; logs a warning if not. */
export function hasBrowser(): boolean {
  if (CHROMIUM === undefined) console.warn('No /usr/bin/chromium here: the browser tests are skipped.')
  return CHROMIUM !== undefined
}

export type Browser = AsyncDisposable & {
  page: Page
  /** Errors of the page: scripts, console, content security policy, requests to another origin. */
  complaints: string[]
}

/** Builds the dashboard unless the last build is newer than its sources. */
export async function buildDashboard(): Promise<void> {
  // A test run has already built it; another build would replace files that running services serve.
  if (process.env.STEAD_UNDER_TEST || isDashboardBuilt()) return
  const build = Bun.spawn([process.execPath, join(ROOT, 'scripts/build-web.ts')], {
    stdout: 'ignore',
    timeout: BUILD_MS,
  })
  if ((await build.exited) !== 0) throw new Error('The dashboard cannot be built')
}

/** Returns whether the build is newer than every source in `web/`. */
function isDashboardBuilt(): boolean {
  const built = statSync(join(ROOT, 'web/dist/index.html'), { throwIfNoEntry: false })
  if (!built) return false
  const files = [...new Bun.Glob('web/**/*.{ts,tsx,css,html,md}').scanSync(ROOT)]
  const sources = files.filter((path) => !path.startsWith('web/dist/'))
  return sources.every((path) => statSync(join(ROOT, path)).mtimeMs <= built.mtimeMs)
}

/**
 * Opens a page in a new profile and records requests that leave `origin`. All pages of a process share one Chromium,
 * except with `tlsPort`: then every host name resolves to that port and certificates are not checked. Animations are
 * off, so that no frames are painted while a test waits.
 */
export async function openBrowser(origin: string, { tlsPort }: { tlsPort?: number } = {}): Promise<Browser> {
  const chromium = await (tlsPort === undefined ? shareChromium() : launchChromium(leadingTo(tlsPort)))
  const context = await chromium.newContext({ reducedMotion: 'reduce' })
  context.setDefaultTimeout(WAIT_MS)
  const complaints: string[] = []
  return {
    page: await watchedPage(context, origin, complaints),
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close()
      if (tlsPort !== undefined) await chromium.close()
    },
  }
}

let shared: Promise<Chromium> | undefined

function shareChromium(): Promise<Chromium> {
  if (shared === undefined) {
    shared = launchChromium([])
    endAfterFile(async () => {
      const browser = await shared
      shared = undefined
      await browser?.close()
    })
  }
  return shared
}

function launchChromium(args: string[]): Promise<Chromium> {
  const folder = tempFolder()
  const executablePath = writeLauncher(folder)
  return chromium.launch({ executablePath, artifactsDir: folder.path, args: [...FLAGS, ...args], timeout: WAIT_MS })
}

/**
 * Signs in a user of `signUp` to the dashboard at `web` by a direct request, which is faster than the sign-in page, and
 * waits for the overview.
 */
export async function signInBrowser(page: Page, web: string, email = 'ada@example.com'): Promise<void> {
  const data = { email, password: PASSWORD }
  const answer = await page.context().request.post(`${web}/api/auth/login`, { data })
  if (!answer.ok()) throw new Error(`Cannot sign in: ${await answer.text()}`)
  await page.goto(web)
  const heading = page.getByRole('heading', { name: 'Overview', level: 1 })
  await heading.waitFor().catch(async (cause) => {
    throw new Error(`No overview at ${page.url()}: ${await page.locator('body').textContent()}`, { cause })
  })
}

/** Resizes the window and waits a few frames until the layout has settled. */
export async function resizePage(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size)
  await page.evaluate(DRAWN)
}

export function ignoreTimeout(error: unknown): void {
  if (!(error instanceof errors.TimeoutError)) throw error
}

/**
 * Writes a launcher for Chromium without network-change events, which deletes the profile at exit.
 * @returns its path.
 */
function writeLauncher({ path: folder, file }: ReturnType<typeof tempFolder>): string {
  const path = file('chromium-without-netlink')
  const command = [process.execPath, join(import.meta.dir, 'programs', 'without-netlink.ts'), CHROMIUM ?? '']
  const script = `for argument; do case $argument in --user-data-dir=*) profile=\${argument#*=};; esac; done
${command.map((word) => `'${word}'`).join(' ')} "$@"
rm -rf "$profile" '${folder}'`
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

function leadingTo(port: number): string[] {
  return [`--host-resolver-rules=MAP * 127.0.0.1:${port}`, '--ignore-certificate-errors']
}

async function watchedPage(context: BrowserContext, origin: string, complaints: string[]): Promise<Page> {
  // Recorded in the page, because a violation may not reach the console.
  await context.addInitScript(`document.addEventListener('securitypolicyviolation',
    (event) => console.error('policy violation: ' + event.violatedDirective + ' ' + event.blockedURI))`)
  const page = await context.newPage()
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
