import { existsSync } from 'node:fs'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { tempFolder } from './temp-folder.ts'

const CHROMIUM = '/usr/bin/chromium'
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

/**
 * A fresh Chromium with one page, which is expected to stay at `origin`. With `tlsPort` every name leads there, whatever
 * its certificate.
 */
export async function openBrowser(origin: string, { tlsPort }: { tlsPort?: number } = {}): Promise<Browser> {
  const folder = tempFolder()
  const args = tlsPort === undefined ? FLAGS : [...FLAGS, ...leadingTo(tlsPort)]
  const context = await chromium.launchPersistentContext(folder.path, { executablePath: CHROMIUM, args })
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
