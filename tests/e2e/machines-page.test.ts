import { beforeAll, expect, test } from 'bun:test'
import jsQR from 'jsqr'
import { buildDashboard, hasBrowser, openBrowser, signInBrowser } from '../harness/browser.ts'
import { signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { openInstallation } from '../harness/server.ts'
import { tempFolder } from '../harness/temp-folder.ts'
import { withProvider } from '../integration/journeys/main-job.ts'
import { startMachine } from '../integration/machines/machines.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

/** Decodes a QR code from the path of its SVG, which has one square per module. */
function readQr(path: string, side: number): string | undefined {
  const scale = 4
  const pixels = new Uint8ClampedArray((side * scale) ** 2 * 4).fill(255)
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let dot = 0; dot < scale * scale; dot++) {
      const column = Number(x) * scale + (dot % scale)
      const row = Number(y) * scale + Math.floor(dot / scale)
      pixels.fill(0, (row * side * scale + column) * 4, (row * side * scale + column) * 4 + 3)
    }
  }
  return jsQR(pixels, side * scale, side * scale)?.data
}

test.skipIf(!hasBrowser())(
  'the machines page: adds a machine by a command shown as text and QR code; shows its state, version and removal',
  async () => {
    await using provider = await startProvider()
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web, backend } = (await installation.start()).urls
    await signUp(web)
    using folder = tempFolder()
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web)
    await page.goto(`${web}/settings/machines`)
    await page.getByRole('button', { name: 'Add machine' }).click()
    const command = page.locator('code', { hasText: 'stead home' })
    const line = (await command.textContent()) ?? ''
    const port = new URL(backend).port
    const code = (await page.getByTestId('pairing-code').textContent()) ?? ''
    expect(code).toMatch(/^[2-9A-Z]{4}-[2-9A-Z]{4}$/)
    expect(line).toBe(`stead home --platform http://${new URL(web).hostname}:${port} --code ${code}`)
    const picture = page.getByRole('img', { name: 'QR code of the command' })
    const side = Number((await picture.getAttribute('viewBox'))?.split(' ')[2])
    expect(readQr((await picture.locator('path').getAttribute('d')) ?? '', side)).toBe(line)
    await page.getByText('Waiting for the machine to connect…').waitFor()
    await page.getByLabel('Existing gateway').check()
    await page.locator('code', { hasText: 'stead link' }).waitFor()

    const args = line.split(' ').slice(1)
    await using home = startMachine([...args, '--port', '0', '--dir', folder.file('home'), '--name', 'attic'])
    await home.next('tunnel', 0)
    await page.getByText('attic connected').waitFor()
    const machines = page.getByRole('list', { name: 'Machines' })
    await machines.getByText(/^Online/).waitFor()
    await machines.getByText(/^Version \d/).waitFor()
    await machines.getByRole('link', { name: 'Open agent' }).click()
    await page.waitForURL(/\/agents\/attic-/)
    const agentPage = page.url()
    await page.getByRole('button', { name: 'Actions for attic' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).waitFor()
    for (const name of ['Start', 'Stop', 'Restart']) {
      expect([name, await page.getByRole('menuitem', { name, exact: true }).count()]).toEqual([name, 0])
    }
    await page.keyboard.press('Escape')
    await page.goto(`${agentPage}/overview`)
    await page.getByText('This agent runs on your own machine').waitFor()
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
    await page.goto(`${agentPage}/settings`)
    await page.getByText('Set its model, provider key and messengers there.').waitFor()
    expect(await page.getByRole('button', { name: 'Replace token' }).count()).toBe(0)

    await home.stop()
    await page.goto(agentPage)
    await page.getByText('attic answers when your machine is connected again.').waitFor()
    await page.getByText('attic cannot be reached').waitFor()
    await page.goto(`${web}/settings/machines`)
    await page.getByText(/^Offline since/).waitFor()
    await page.getByRole('button', { name: 'Remove attic' }).click()
    await page.getByRole('button', { name: 'Remove machine' }).click()
    await page.getByText('No machines yet').waitFor()

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
