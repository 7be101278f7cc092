import { git, initRepository } from './repository.ts'

const PASSWORD = 'git-password-1'
export const LOGIN = { username: 'ada', password: PASSWORD }
const AUTHORIZATION = `Basic ${btoa(`ada:${PASSWORD}`)}`

/** Starts `git http-backend` with bare repositories in `folder`, behind a password. */
export function startGitServer(folder: string) {
  const seen: { url: string; authorization: string | null }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const authorization = request.headers.get('authorization')
      seen.push({ url: request.url, authorization })
      if (authorization !== AUTHORIZATION) {
        return new Response('Who are you?', { status: 401, headers: { 'www-authenticate': 'Basic realm="git"' } })
      }
      return runBackend(folder, request)
    },
  })
  return {
    origin: `http://127.0.0.1:${server.port}`,
    seen,
    /** Creates a bare repository and returns its URL. */
    create: (name: string) => {
      initRepository(`${folder}/${name}`, '--bare')
      return `http://127.0.0.1:${server.port}/${name}`
    },
    log: (name: string) => git(`${folder}/${name}`, ['log', '--format=%H %s', 'main']),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** Runs the CGI program (RFC 3875). */
async function runBackend(folder: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const child = Bun.spawn(['git', 'http-backend'], {
    stdin: new Uint8Array(await request.arrayBuffer()),
    stdout: 'pipe',
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      REMOTE_USER: 'ada',
    },
  })
  const output = Buffer.from(await new Response(child.stdout).arrayBuffer())
  const end = output.indexOf('\r\n\r\n')
  const headers = new Headers()
  for (const line of output.toString('utf8', 0, end).split('\r\n')) {
    const at = line.indexOf(':')
    headers.append(line.slice(0, at), line.slice(at + 1).trim())
  }
  const status = Number.parseInt(headers.get('status') ?? '200', 10)
  headers.delete('status')
  return new Response(output.subarray(end + 4), { status, headers })
}
