import { expect, test } from 'bun:test'
import { z } from 'zod'
import { testApp } from '../../../tests/harness/http.ts'
import { cookiesOf, read } from '../../../tests/harness/requests.ts'
import { clearSessionCookies, findSessionToken, readSessionTokens, setSessionCookies } from './cookie.ts'

const SetCookie = z.object({ token: z.string().nullable() })
const THIRTY_DAYS_SECONDS = 2_592_000

function openTestApp(isHttps: boolean) {
  const { request } = testApp((app) => {
    app.post('/sign-in', (c) => {
      setSessionCookies(c, c.req.query('token') ?? '', { isHttps, maxAgeSeconds: THIRTY_DAYS_SECONDS })
      return c.text('in')
    })
    app.post('/sign-out', (c) => {
      clearSessionCookies(c, isHttps)
      return c.text('out')
    })
    app.get('/api/auth/session', (c) => c.json({ token: findSessionToken(c, isHttps), all: readSessionTokens(c) }))
  })
  const signIn = async (token: string) => cookiesOf(await request(`/sign-in?token=${token}`, { method: 'POST' }))
  const ask = (cookie: string, host = 'app.stead.example') =>
    request('/api/auth/session', { headers: { cookie, host } })
  const tokenOf = async (cookie: string) => (await read(SetCookie, ask(cookie))).token
  return { request, signIn, ask, tokenOf }
}

test('a session over https has a companion cookie that other hosts cannot set, and is invalid without it', async () => {
  const { request, signIn, tokenOf } = openTestApp(true)
  const response = await request('/sign-in?token=ada', { method: 'POST' })
  const lines = response.headers.getSetCookie().map((line) => line.split('; '))
  for (const line of lines) {
    expect(line.slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'])
  }
  expect(lines.map(([pair]) => pair?.split('=')[0])).toEqual(['service-session', '__Host-service-session'])
  const [session = '', companion = ''] = (await signIn('ada')).split('; ')
  expect(await tokenOf(`${session}; ${companion}`)).toBe('ada')
  expect(await tokenOf(`${companion};${session}`)).toBe('ada')
  expect(await tokenOf(session)).toBeNull()
  expect(await tokenOf(companion)).toBeNull()
})

test('a companion cookie is valid for one session only', async () => {
  const { signIn, tokenOf } = openTestApp(true)
  const [ada = '', adas = ''] = (await signIn('ada')).split('; ')
  const [eve = '', eves = ''] = (await signIn('eve')).split('; ')
  expect(await tokenOf(`${eve}; ${adas}`)).toBeNull()
  expect(await tokenOf(`${ada}; ${adas}; ${eves}`)).toBeNull()
  expect(await tokenOf(`${ada}; ${eves}; ${adas}`)).toBeNull()
  expect(await tokenOf(`${ada}; __Host-service-session=`)).toBeNull()
})

test.each([true, false])(
  'two sessions in one request are invalid, and the planted cookie is cleared (https: %p)',
  async (isHttps) => {
    const { signIn, ask } = openTestApp(isHttps)
    const own = await signIn('ada')
    for (const cookie of [`service-session=eve; ${own}`, `${own}; service-session=eve`, `${own};service-session = `]) {
      const response = await ask(cookie)
      expect((await read(SetCookie, response)).token).toBeNull()
      const expired = response.headers.getSetCookie()
      expect(expired).toContain('service-session=; Max-Age=0; Path=/; Domain=stead.example')
      expect(expired).toContain('service-session=; Max-Age=0; Path=/; Domain=app.stead.example')
      expect(expired).toContain('service-session=; Max-Age=0; Path=/api/; Domain=stead.example')
      expect(expired).toContain('service-session=; Max-Age=0; Path=/api/auth/session')
      expect(expired).toContain('=x; Max-Age=0; Path=/; Domain=stead.example')
      // The browser's own: of this host alone, for all of it.
      expect(expired).not.toContain('service-session=; Max-Age=0; Path=/')
    }
    expect((await ask(own)).headers.getSetCookie()).toEqual([])
  },
)

test('cookies of host names without a parent domain and of addresses are cleared by path only', async () => {
  const { ask } = openTestApp(false)
  for (const host of ['localhost:3000', '127.0.0.1:3000', '[::1]:3000']) {
    const response = await ask('service-session=a; service-session=b', host)
    const expired = response.headers.getSetCookie()
    expect(expired.length).toBeGreaterThan(0)
    expect(expired.filter((line) => line.includes('Domain='))).toEqual([])
  }
})

test('a sign-in replaces a session cookie that was planted before', async () => {
  const { request } = openTestApp(true)
  const headers = { cookie: 'service-session=eve', host: 'app.stead.example' }
  const response = await request('/sign-in?token=ada', { method: 'POST', headers })
  expect(response.headers.getSetCookie()).toContain('service-session=; Max-Age=0; Path=/; Domain=stead.example')
})

test('a sign-out clears both cookies', async () => {
  const lines = (await openTestApp(true).request('/sign-out', { method: 'POST' })).headers.getSetCookie()
  expect(lines.map((line) => line.split('; ').slice(0, 2))).toEqual([
    ['service-session=', 'Max-Age=0'],
    ['__Host-service-session=', 'Max-Age=0'],
  ])
})

test('cookies with similar names are ignored', async () => {
  const { ask } = openTestApp(false)
  const strange = 'x-service-session=1; service-session-2=2; Service-Session=3; a=service-session=4'
  expect(await (await ask(`service-session=ada; ${strange}`)).json()).toEqual({ token: 'ada', all: ['ada'] })
})
