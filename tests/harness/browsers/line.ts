import type { CDPSession, Page } from 'playwright-core'

/** A network fault: delay by `lateMs`, a canned response, or a broken connection. */
export type Treatment =
  | { lateMs: number }
  | { status: number; headers?: Record<string, string>; json: unknown }
  | 'lost'

/** The network between a page and the server. `treat` selects a fault for each path; null means none. */
export type Line = {
  treat(treat: (path: string) => Treatment | null): void
  /** Removes the faults and waits until delayed requests have been sent. */
  mend(): Promise<void>
}

type Paused = { requestId: string; request: { url: string } }

/** Intercepts the requests of `page` to `/api/`. Playwright's own routes would disable the cache of the whole page. */
export async function openLine(page: Page): Promise<Line> {
  const session = await page.context().newCDPSession(page)
  let treatment: (path: string) => Treatment | null = () => null
  let late = Promise.resolve()
  session.on('Fetch.requestPaused', (paused: Paused) => {
    const treated = treatment(new URL(paused.request.url).pathname)
    // In sequence, as on a slow network.
    if (treated !== null && treated !== 'lost' && 'lateMs' in treated) {
      late = late.then(() => Bun.sleep(treated.lateMs)).then(() => answer(session, paused, null))
      return
    }
    void answer(session, paused, treated)
  })
  await session.send('Fetch.enable', { patterns: [{ urlPattern: '*://*/api/*' }] })
  return {
    treat(next) {
      treatment = next
    },
    async mend() {
      treatment = () => null
      await late
    },
  }
}

async function answer(session: CDPSession, { requestId }: Paused, treated: Treatment | null): Promise<void> {
  try {
    if (treated === null || (treated !== 'lost' && 'lateMs' in treated))
      return void (await session.send('Fetch.continueRequest', { requestId }))
    if (treated === 'lost')
      return void (await session.send('Fetch.failRequest', { requestId, errorReason: 'ConnectionFailed' }))
    await session.send('Fetch.fulfillRequest', {
      requestId,
      responseCode: treated.status,
      responseHeaders: Object.entries({ 'content-type': 'application/json', ...treated.headers }).map(
        ([name, value]) => ({ name, value }),
      ),
      body: Buffer.from(JSON.stringify(treated.json)).toString('base64'),
    })
  } catch (error) {
    // Navigation cancels the requests of the previous page.
    if (!/Invalid InterceptionId|closed/.test(String(error))) throw error
  }
}
