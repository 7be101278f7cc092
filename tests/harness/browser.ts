import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrowserContext, type Browser as Chromium, chromium, errors, type Page } from 'playwright-core'
import { PASSWORD } from './client.ts'
import { endAfterFile } from './teardown.ts'
import { tempFolder } from './temp-folder.ts'

/** The first that is there: the shell is the same browser without a window, and takes half of the processor time. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))
const ROOT = join(import.meta.dir, '..', '..')
const BUILD_MS = 300_000
/** The longest wait for an element. Generous, because several browsers and engines may share two cores. */
const WAIT_MS = 60_000
const DRAWN_MS = 15_000
/** One expression: what Playwright waits for by itself it evaluates in the page, whose policy does not let it. */
const DRAWN = `new Promise((drawn) => {
  const endsAt = performance.now() + ${DRAWN_MS}
  const look = () => {
    const isOver = document.documentElement.scrollWidth <= innerWidth || performance.now() > endsAt
    return isOver ? drawn(null) : requestAnimationFrame(look)
  }
  requestAnimationFrame(() => requestAnimationFrame(look))
})`
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
  if (CHROMIUM === undefined) console.warn('No /usr/bin/chromium here: the browser tests are skipped.')
  return CHROMIUM !== undefined
}

export type Browser = AsyncDisposable & {
  page: Page
  /** Errors of the page: scripts, console, content security policy, requests to another origin. */
  complaints: string[]
}

/** Builds the dashboard unless it is there as it is written now. */
export async function buildDashboard(): Promise<void> {
  // A test run has built everything: another build would take the files from services that serve them.
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
 * A page in a fresh profile, which is expected to stay at `origin`. All profiles of a process are of one Chromium, but
 * where `tlsPort` is given: there every name leads to that port, whatever its certificate. Networks of containers that
 * come and go on the machine do not disturb it. Nothing moves on the page, so that nothing is painted while a test waits.
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
 * Signs a person of `signUp` in at the dashboard at `web` by a request, and waits for their overview. The page of the
 * sign-in has tests of its own; it would take longer than all the rest here.
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

/** Resizes the window and waits until the layout has settled, which takes some frames. */
export async function resizePage(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size)
  await page.evaluate(DRAWN)
}

export function ignoreTimeout(error: unknown): void {
  if (!(error instanceof errors.TimeoutError)) throw error
}

/** Writes a launcher for Chromium without network-change events. It ends with its parent and deletes its profile. @returns its path. */
function writeLauncher({ path: folder, file }: ReturnType<typeof tempFolder>): string {
  const path = file('deaf-chromium')
  const command = [process.execPath, join(import.meta.dir, 'programs', 'deaf-browser.ts'), CHROMIUM ?? '']
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
  // In the page's own words, because a violation need not reach the console.
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
