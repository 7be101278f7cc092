import { beforeAll, expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../../harness/browser.ts'
import { PASSWORD, signIn, signUp } from '../../harness/client.ts'
import { json } from '../../harness/requests.ts'
import { openInstallation, type Program } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const EMAIL = 'ada@example.com'

/** Returns the setup link of the banner, which follows the addresses of the service. */
function findLink(program: Program): Promise<string> {
  return until('the setup link', () => program.lines.map((line) => line.match(/^ +Set up +(\S+)$/)?.[1]).find(Boolean))
}

const tokenOf = (link: string) => new URL(link).searchParams.get('token')

test(
  'a start without an account prints a new setup link; setup-link prints another; none when an account exists',
  async () => {
    await using installation = await openInstallation()
    const first = await installation.start()
    const old = await findLink(first)
    await first.stop()
    const program = await installation.start()
    const link = await findLink(program)
    expect(new URL(link).pathname).toBe('/setup')
    expect(program.lines.join('\n')).toContain('Works once, until ')
    const { web } = program.urls
    const setUp = (token: string | null) =>
      fetch(`${web}/api/setup`, json('POST', { token, email: EMAIL, password: PASSWORD }))
    expect((await setUp(tokenOf(old))).status).toBe(403)

    const made = await installation.run(['user', 'setup-link', '--json'])
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    const { url } = JSON.parse(made.stdout)
    expect(new URL(url).origin).toBe(web.replace('127.0.0.1', 'localhost'))
    expect((await setUp(tokenOf(link))).status).toBe(403)
    expect((await setUp(tokenOf(url))).status).toBe(200)
    const owner = await signIn(web, EMAIL)
    expect(await (await owner.get('/api/auth/session')).json()).toMatchObject({ user: { isAdmin: true } })

    expect((await setUp(tokenOf(url))).status).toBe(409)
    expect(await installation.run(['user', 'setup-link'])).toMatchObject({
      exitCode: 1,
      stderr: 'stead: There is an account already: stead user create makes others\n',
    })
    await program.stop()
    const again = await installation.start()
    expect((await again.stop()).stdout).not.toContain('Set up')
  },
  LIMIT_MS,
)

test(
  'stead user setup-link: exits with 78 and changes nothing when Stead never started on the folder',
  async () => {
    await using installation = await openInstallation()
    expect(await installation.run(['user', 'setup-link'])).toMatchObject({
      exitCode: 78,
      stdout: '',
      stderr: expect.stringContaining('no Stead has started on'),
    })
    expect(existsSync(join(installation.dataDir, 'stead.db'))).toBe(false)
  },
  LIMIT_MS,
)

test(
  'POST /api/register at home: 403 for a proxied stranger before setup, 200 from the machine itself',
  async () => {
    await using installation = await openInstallation()
    const { web } = (await installation.start()).urls
    const stranger = await fetch(
      `${web}/api/register`,
      json('POST', { email: 'eve@example.com', password: PASSWORD }, { 'x-forwarded-for': '203.0.113.7' }),
    )
    expect(stranger.status).toBe(403)
    const owner = await signUp(web)
    expect(await (await owner.get('/api/auth/session')).json()).toMatchObject({ user: { isAdmin: true } })
  },
  LIMIT_MS,
)

test(
  'ADMIN_EMAIL and ADMIN_PASSWORD_FILE create the administrator at the first start, and no link is printed',
  async () => {
    await using installation = await openInstallation()
    const file = join(installation.dataDir, '..', 'password')
    writeFileSync(file, `${PASSWORD}\n`)
    const program = await installation.start({ ADMIN_EMAIL: EMAIL, ADMIN_PASSWORD_FILE: file })
    const owner = await signIn(program.urls.web, EMAIL)
    expect(await (await owner.get('/api/auth/session')).json()).toMatchObject({ user: { isAdmin: true } })
    expect((await program.stop()).stdout).not.toContain('Set up')
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  '/setup on a phone: the printed link creates the administrator and signs in; without a link, and later, the page says so',
  async () => {
    await using installation = await openInstallation()
    const program = await installation.start()
    const link = await findLink(program)
    await using browser = await openBrowser(program.urls.web)
    const { page, complaints } = browser
    await resizePage(page, { width: 360, height: 640 })
    await page.goto(`${program.urls.web}/setup`)
    await page.getByText('Setup link missing').waitFor()

    await page.goto(link)
    await page.getByLabel('Email').fill(EMAIL)
    await page.getByLabel('Password').fill('short')
    await page.getByRole('button', { name: 'Create administrator account' }).click()
    await page.getByText('Password must be at least 8 characters').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create administrator account' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    await page.goto(link)
    await page.getByText('Stead is already set up').waitFor()
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

beforeAll(buildDashboard, LIMIT_MS)
