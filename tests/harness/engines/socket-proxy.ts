import { chmodSync } from 'node:fs'
import { request as ask, createServer } from 'node:http'

/** Allowed paths by method. */
export type EngineRules = Map<string, RegExp[]>

/** Parses rules of wollomatic/socket-proxy: `-allowGET=<pattern>`, which must match the whole path. */
export function readEngineRules(command: readonly string[]): EngineRules {
  const rules: EngineRules = new Map()
  for (const line of command) {
    const [, method, pattern] = /^-allow(GET|HEAD|POST|PUT|DELETE)=(.+)$/.exec(line) ?? []
    if (!method || !pattern) continue
    rules.set(method, [...(rules.get(method) ?? []), new RegExp(`^(?:${pattern})$`)])
  }
  return rules
}

/** Returns whether the rules allow this request. `path` has no query. */
export function isAllowed(rules: EngineRules, method: string, path: string): boolean {
  return rules.get(method)?.some((rule) => rule.test(path)) ?? false
}

/** Starts a proxy for the engine's socket at `file` that enforces the rules; `refused` lists rejected requests. */
export async function startSocketProxy(
  engineSocket: string,
  file: string,
  rules: EngineRules,
): Promise<{ refused: string[] } & Disposable> {
  const refused: string[] = []
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const [path = ''] = url.split('?')
    if (!isAllowed(rules, method, path)) {
      refused.push(`${method} ${path}`)
      outgoing.writeHead(403).end('{"message":"refused by the rules"}')
      return
    }
    const passed = ask({ socketPath: engineSocket, path: url, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(file, resolve))
  chmodSync(file, 0o666)
  return {
    refused,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
