import S3rver from 's3rver'
import { tempFolder } from '../temp-folder.ts'

/** Intercepts a request before the server; null passes it on. */
export type S3Fault = (request: Request) => Response | null | 'reset'

/** Starts an S3 server with the bucket `backups`, behind a proxy that applies `fault`. */
export async function startS3() {
  const folder = tempFolder()
  const bucket = { name: 'backups' }
  const server = new S3rver({
    ...{ port: 0, address: '127.0.0.1', silent: true, directory: folder.path },
    configureBuckets: [bucket],
  })
  const { port } = await server.run()
  let fault: S3Fault = () => null
  const front = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request, serving) {
      const answer = fault(request)
      if (answer === 'reset') {
        // Closes open connections without a response.
        void serving.stop(true)
        return new Response(null, { status: 500 })
      }
      if (answer) return answer
      const { pathname, search } = new URL(request.url)
      const body = ['GET', 'HEAD'].includes(request.method) ? null : await request.arrayBuffer()
      return fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        body,
      })
    },
  })
  const settings = {
    endpoint: `http://127.0.0.1:${front.port}`,
    ...{ region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  }
  return {
    settings,
    /** Settings that bypass the faults. */
    behind: { ...settings, endpoint: `http://127.0.0.1:${port}` },
    address: `s3://${bucket.name}/house`,
    setFault: (next: S3Fault) => {
      fault = next
    },
    async [Symbol.asyncDispose]() {
      void front.stop(true)
      await server.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Creates an S3 error response. */
export function refuse(status: number, code: string): Response {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>Not now</Message></Error>`
  return new Response(text, { status, headers: { 'content-type': 'application/xml' } })
}
