/**
 * The baseline of `summarize`: fetches the page in the first argument, parses it with linkedom and returns its title.
 */
import { DOMParser } from 'linkedom'

const [page = ''] = process.argv.slice(2)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch() {
    const response = await fetch(page)
    const document = new DOMParser().parseFromString(await response.text(), 'text/html')
    return Response.json({ title: document.title })
  },
})
console.log(String(server.url))
