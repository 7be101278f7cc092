import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import type { Runtime } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../src/adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../src/db/write.ts'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { INTERNAL_KEY, testPlatform } from '../../harness/platform.ts'
import { bearer, json, read } from '../../harness/requests.ts'

export const OPERATOR = bearer(INTERNAL_KEY)

type Answer = { status: number; body: Record<string, unknown> }

/**
 * Creates a platform with Ada, her agent with a workspace, and an administrator; `get` and `post` send the operator's
 * key.
 */
export async function openFiles(
  options: { runtime?: Runtime['name']; environment?: Record<string, string>; logLines?: string[] } = {},
) {
  const test = testPlatform({
    environment: { ADMIN_EMAILS: 'root@example.com', ...options.environment },
    runtime: createNoRuntime(options.runtime ?? 'process', 'No test asks for this'),
    ...(options.logLines ? { logLines: options.logLines } : {}),
  })
  const { platform, clock } = test
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const admin = await test.signIn('root@example.com')
  const agent = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, {
      ownerId: ada.user.id,
      name: 'Bo',
      model: 'default',
      plan: 'solo',
      aiProvider: 'openrouter',
      status: 'running',
    }),
  )
  const folders = {
    root: platform.browseRoot,
    agent: join(platform.agentsFolder, agent.id, 'state', 'workspace'),
  }
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true })
  const call = async (path: string, init: RequestInit, api: 'web' | 'backend' = 'backend'): Promise<Answer> => {
    const response = await test[api].request(`/api/browse/${path}`, init)
    return { status: response.status, body: z.record(z.string(), z.unknown()).parse(await response.json()) }
  }
  return {
    ...test,
    ada,
    eve,
    admin,
    agent,
    folders,
    call,
    /** Creates an `sk_` key of the user signed in with `cookie`. */
    createKey: async (cookie: Record<string, string>, scopes: string[] = []) =>
      (await read(CreatedKey, test.web.request('/api/keys', json('POST', { name: 'k', scopes }, cookie)))).key,
    get: (path: string) => call(path, { headers: OPERATOR }),
    post: (path: string, body: unknown) => call(path, json('POST', body, OPERATOR)),
    delete: (path: string) => call(path, { method: 'DELETE', headers: OPERATOR }),
  }
}

/** Writes the files of `contents` below `folder`. */
export function fill(folder: string, contents: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}
