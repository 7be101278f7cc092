import { createHash, randomBytes } from 'node:crypto'

/** A GitHub user. */
export type GithubPerson = {
  id: number
  login: string
  name?: string | null
  emails: { email: string; primary: boolean; verified: boolean }[]
}

export type GithubFault = {
  at: '/login/oauth/access_token' | '/user' | '/user/emails'
  answer: { status: number } | 'html' | 'hang' | 'no token'
}

export type GithubDouble = AsyncDisposable & {
  /** Settings of a platform that uses this provider. */
  environment: Record<string, string>
  signInAs(person: GithubPerson): void
  failWith(fault: GithubFault | undefined): void
  /** Follows the authorization URL, signs in, and returns the redirect URL. */
  visit(startUrl: string): Promise<URL>
  requests: string[]
}

const CLIENT_ID = 'stead-tests'
const CLIENT_SECRET = 'secret-of-the-tests-0123456789abcdef'

type Grant = { person: GithubPerson; redirectUri: string; challenge: string }

/**
 * Starts a provider that checks codes, secrets, redirect URIs and PKCE like GitHub, and like it rejects an invalid code
 * with status 200.
 */
export async function startGithubDouble(): Promise<GithubDouble> {
  let person: GithubPerson | undefined
  let fault: GithubFault | undefined
  const codes = new Map<string, Grant>()
  const tokens = new Map<string, GithubPerson>()
  const requests: string[] = []

  const authorize = (query: URLSearchParams) => {
    const redirectUri = query.get('redirect_uri')
    const isKnown = query.get('client_id') === CLIENT_ID && query.get('response_type') === 'code'
    if (!person || !redirectUri || !isKnown || query.get('code_challenge_method') !== 'S256') return refuse(400)
    const code = randomBytes(10).toString('hex')
    codes.set(code, { person, redirectUri, challenge: query.get('code_challenge') ?? '' })
    const back = new URL(redirectUri)
    back.search = new URLSearchParams({ code, state: query.get('state') ?? '' }).toString()
    return Response.redirect(back.href, 302)
  }

  const exchange = async (request: Request) => {
    const form = new URLSearchParams(await request.text())
    const code = form.get('code') ?? ''
    const grant = codes.get(code)
    codes.delete(code)
    const verifier = form.get('code_verifier') ?? ''
    const isRight =
      grant !== undefined &&
      form.get('client_id') === CLIENT_ID &&
      form.get('client_secret') === CLIENT_SECRET &&
      form.get('redirect_uri') === grant.redirectUri &&
      createHash('sha256').update(verifier).digest('base64url') === grant.challenge
    if (!isRight) return Response.json({ error: 'bad_verification_code' })
    const token = `gho_${randomBytes(18).toString('hex')}`
    tokens.set(token, grant.person)
    return Response.json({ access_token: token, token_type: 'bearer', scope: 'read:user,user:email' })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      requests.push(`${request.method} ${pathname}`)
      if (fault?.at === pathname) return failOne(fault)
      if (pathname === '/login/oauth/authorize') return authorize(searchParams)
      if (pathname === '/login/oauth/access_token' && request.method === 'POST') return exchange(request)
      const who = tokens.get(request.headers.get('authorization')?.replace('Bearer ', '') ?? '')
      if (!who || !request.headers.get('user-agent')) return refuse(401)
      if (pathname === '/user') return Response.json({ id: who.id, login: who.login, name: who.name ?? null })
      if (pathname === '/user/emails') return Response.json(who.emails)
      return refuse(404)
    },
  })
  const origin = `http://127.0.0.1:${server.port}`

  return {
    environment: {
      IDP_A_CLIENT_ID: CLIENT_ID,
      IDP_A_CLIENT_SECRET: CLIENT_SECRET,
      IDP_A_AUTHORIZE_URL: `${origin}/login/oauth/authorize`,
      IDP_A_TOKEN_URL: `${origin}/login/oauth/access_token`,
      IDP_A_API_URL: origin,
    },
    requests,
    signInAs(next) {
      person = next
    },
    failWith(next) {
      fault = next
    },
    async visit(startUrl) {
      const response = await fetch(startUrl, { redirect: 'manual' })
      const location = response.headers.get('location')
      if (!location) throw new Error(`The provider answered ${response.status}: ${await response.text()}`)
      return new URL(location)
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true)
    },
  }
}

function failOne({ answer }: GithubFault): Response | Promise<Response> {
  if (answer === 'hang') return new Promise(() => undefined)
  if (answer === 'html')
    return new Response('<!doctype html><h1>Unicorn</h1>', { headers: { 'content-type': 'text/html' } })
  if (answer === 'no token') return Response.json({ token_type: 'bearer' })
  return refuse(answer.status)
}

function refuse(status: number): Response {
  return Response.json({ message: 'no' }, { status })
}
