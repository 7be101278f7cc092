import { beforeAll, expect, test } from 'bun:test'
import { CreatedKey } from '../../src/features/accounts/keys/schemas.ts'
import { buildDashboard, hasBrowser, openBrowser, signInBrowser } from '../harness/browser.ts'
import { signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { bearer, json } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** A guard against waiting for ever, nothing else. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'a machine is added by one command with a fresh key and the address of this server, and is waited for; a key comes with a call that works',
  async () => {
    await using provider = await startProvider()
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web, backend } = (await installation.start()).urls
    await signUp(web)
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web)
    await page.goto(`${web}/settings/machines`)
    const made = page.waitForResponse((response) => response.url().endsWith('/api/keys') && response.ok())
    await page.getByRole('button', { name: 'Add machine' }).click()
    const { key } = CreatedKey.parse(await (await made).json())
    const port = new URL(backend).port
    const command = page.locator('code', { hasText: 'stead home' })
    expect(await command.textContent()).toContain(
      `stead home --platform ${new URL(web).protocol}//${new URL(web).hostname}:${port} `,
    )
    expect(await command.textContent()).toContain(key)
    await page.getByText('Waiting for the machine to connect…').waitFor()
    const session = await (await page.request.get(`${web}/api/auth/session`)).json()
    const machine = { userId: session.user.id, name: 'attic' }
    const registered = await fetch(`${backend}/api/register-home`, json('POST', machine, bearer(key)))
    expect(registered.status).toBe(200)
    await page.getByText('attic connected').waitFor()

    await page.goto(`${web}/settings/keys`)
    await page.getByLabel('Name').first().fill('script')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'Python' }).click()
    await page.getByText(`:${port}/v1`).first().waitFor()
    expect(complaints).toEqual([])

    await page.route('**/api/installations/address', (route) => route.abort())
    await page.goto(`${web}/settings/machines`)
    await page.getByText('Could not load the server address').waitFor()
    await page.unroute('**/api/installations/address')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('button', { name: 'Add machine' }).waitFor()
  },
  LIMIT_MS,
)
