/** An agent whose WebSocket sends a million messages of one letter to each client. It prints its port. */
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request, upgrading) => (upgrading.upgrade(request) ? undefined : new Response(null, { status: 404 })),
  websocket: {
    backpressureLimit: 1024 ** 3,
    open(socket) {
      for (let count = 0; count < 1_000_000; count++) socket.send('x')
    },
    message: () => undefined,
  },
})
console.info(server.port)
