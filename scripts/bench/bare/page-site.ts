/** A web site with one page, which is the file in the first argument. */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

const [file = ''] = process.argv.slice(2)
const page = gunzipSync(readFileSync(file))

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
})
console.log(String(server.url))
