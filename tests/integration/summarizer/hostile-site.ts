/**
 * Serves the hostile bodies at `/0`, `/1` and so on, a plain page at `/plain`, and their names at `/names`: `bun
 * hostile-site.ts <count>`. Prints its port.
 */
import http from 'node:http'
import { hostileBodies } from './hostile-bodies.ts'

const bodies = hostileBodies(Number(process.argv[2]))

const server = http.createServer((request, response) => {
  response.on('error', () => {})
  const hostile = bodies[Number(request.url?.slice(1))]
  if (hostile) hostile.send(response)
  else if (request.url === '/names') response.end(JSON.stringify(bodies.map(({ name }) => name)))
  else response.writeHead(200, { 'content-type': 'text/html' }).end('<title>plain</title>')
})
server.listen(0, '127.0.0.1', () => console.log(Object(server.address()).port))
