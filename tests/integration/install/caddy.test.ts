import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, PASSWORD, toPerson } from '../../harness/client.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { cookiesOf, json } from '../../harness/requests.ts'
import { openInstallation, SERVICE_KEY } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'

const FILE = join(import.meta.dir, '../..', '..', 'scripts/Caddyfile')
const caddy = Bun.which('caddy')
if (!caddy) console.warn('No caddy here (scripts/test-peers): scripts/Caddyfile is not tested.')

/** Runs Caddy with `scripts/Caddyfile` and its own certificates as a reverse proxy for these ports. */
async function startCaddy(domain: string, web: string, backend: string) {
  const folder = tempFolder()
  const [https = 0, http = 0] = await findFreePorts(2)
  const options = ['local_certs', 'skip_install_trust', 'admin off', `https_port ${https}`, `http_port ${http}`]
  const child = Bun.spawn([caddy ?? 'caddy', 'run', '--config', FILE, '--adapter', 'caddyfile'], {
    env: {
      DOMAIN: domain,
      WEB_PORT: new URL(web).port,
      BACKEND_PORT: new URL(backend).port,
      CADDY_OPTIONS: options.join('\n'),
      XDG_DATA_HOME: folder.path,
      HOME: folder.path,
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const root = folder.file('caddy/pki/authorities/local/root.crt')
  // The file exists before its content is written.
  const ca = await until('the certificate authority of Caddy', () => {
    const written = existsSync(root) ? readFileSync(root, 'utf8') : ''
    return written.endsWith('-----END CERTIFICATE-----\n') ? written : null
  })
  return {
    http,
    /** Sends a request to `host` over TLS, trusting Caddy's certificate authority. */
    ask: (host: string, path: string, init: RequestInit = {}) =>
      fetch(`https://127.0.0.1:${https}${path}`, {
        redirect: 'manual',
        ...init,
        headers: { ...Object.fromEntries(new Headers(init.headers)), host },
        tls: { serverName: host, ca },
      }),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
      folder[Symbol.dispose]()
    },
  }
}

test.skipIf(!caddy)(
  'Caddyfile: the dashboard, the backend API and agents get certificates, and unknown names none',
  async () => {
    const domain = 'stead.test'
    await using installation = await openInstallation({
      environment: {
        DOMAIN: domain,
        APP_URL: `https://${domain}`,
        ALLOWED_HOSTS: `backend.${domain}`,
        TRUSTED_PROXIES: '127.0.0.1',
        AI_ECHO: 'true',
      },
    })
    const { urls, lines } = await installation.start()
    await using front = await startCaddy(domain, urls.web, urls.backend)
    await until('the certificate of the dashboard', () => front.ask(domain, '/healthz').catch(() => null))

    const redirect = await fetch(`http://127.0.0.1:${front.http}/login`, {
      headers: { host: domain },
      redirect: 'manual',
    })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, `https://${domain}/login`])
    expect((await front.ask(domain, '/')).headers.get('content-type')).toStartWith('text/html')
    const link = await until('the setup link', () =>
      lines.map((line) => line.match(/Set up +(\S+)$/)?.[1]).find(Boolean),
    )
    expect(link).toStartWith(`https://${domain}/setup?token=`)
    const token = new URL(link).searchParams.get('token')
    const account = { email: 'ada@example.com', password: PASSWORD }
    expect((await front.ask(domain, '/api/setup', json('POST', { token, ...account }))).status).toBe(200)
    const signedIn = await front.ask(domain, '/api/auth/login', json('POST', account))
    expect(signedIn.headers.get('set-cookie')).toContain('Secure')

    const agentId = await createAgent(toPerson(urls.web, account.email, cookiesOf(signedIn)), { model: 'local/echo' })
    const name = `${agentId}.agents.${domain}`
    const live = await until('the certificate of the agent', () => front.ask(name, '/healthz').catch(() => null))
    expect(await live.json()).toEqual({ ok: true, status: 'live' })
    await expect(front.ask(`nobody.agents.${domain}`, '/healthz')).rejects.toThrow()

    const behind = { headers: { authorization: `Bearer ${SERVICE_KEY}` } }
    await until('the certificate of the backend', () => front.ask(`backend.${domain}`, '/healthz').catch(() => null))
    expect((await front.ask(`backend.${domain}`, '/api/agents', behind)).status).toBe(200)
    expect((await front.ask(`backend.${domain}`, '/api/agents')).status).toBe(401)
  },
  300_000,
)
