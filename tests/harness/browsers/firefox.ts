import { existsSync } from 'node:fs'
import { z } from 'zod'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { readLines } from '../wires/lines.ts'

const FIREFOX = '/usr/bin/firefox-esr'

/** Returns whether Firefox is installed; logs a warning if not. */
export function hasFirefox(): boolean {
  const isThere = existsSync(FIREFOX)
  if (!isThere) console.warn(`No ${FIREFOX} here: the tests with it are skipped.`)
  return isThere
}

/** A Firefox page, used by pointer and keyboard. Elements are given as JavaScript expressions. */
export type FirefoxPage = AsyncDisposable & {
  goto(url: string): Promise<void>
  /** Waits for the element and clicks it. */
  press(element: string): Promise<void>
  /** Clicks the field and types. */
  type(element: string, text: string): Promise<void>
  /** Waits until the page shows the text. */
  see(text: string): Promise<void>
}

const Answer = z.object({
  id: z.number().optional(),
  type: z.string(),
  result: z.unknown(),
  message: z.string().optional(),
})
const Tree = z.object({ contexts: z.array(z.object({ context: z.string() })) })
const Evaluated = z.object({
  result: z.looseObject({ type: z.string(), value: z.unknown().optional(), sharedId: z.string().optional() }),
})

/** Starts Firefox and controls it with WebDriver BiDi, because Playwright supports only its own build of Firefox. */
export async function openFirefox(): Promise<FirefoxPage> {
  const folder = tempFolder()
  const child = Bun.spawn(
    [FIREFOX, '--headless', '--no-remote', '--profile', folder.path, '--remote-debugging-port', '0'],
    { stdout: 'ignore', stderr: 'pipe', env: { PATH: process.env.PATH ?? '', HOME: folder.path } },
  )
  const send = await connect(await findAddress(child.stderr))
  await send('session.new', { capabilities: {} })
  const [first] = Tree.parse(await send('browsingContext.getTree', {})).contexts
  const context = String(first?.context)
  const evaluate = async (expression: string) =>
    Evaluated.parse(await send('script.evaluate', { expression, target: { context }, awaitPromise: true })).result
  const act = (actions: unknown) => send('input.performActions', { context, actions })
  const press = async (element: string) => {
    const find = `(() => { const found = ${element}; found?.scrollIntoView({ block: 'center' }); return found })()`
    const sharedId = await until(element, async () => (await evaluate(find)).sharedId ?? null)
    const origin = { type: 'element', element: { sharedId } }
    const steps = [
      { type: 'pointerMove', x: 0, y: 0, origin },
      ...['pointerDown', 'pointerUp'].map((type) => ({ type, button: 0 })),
    ]
    await act([{ type: 'pointer', id: 'mouse', actions: steps }])
  }
  return {
    goto: async (url) => void (await send('browsingContext.navigate', { context, url, wait: 'interactive' })),
    press,
    async type(element, text) {
      await press(element)
      const keys = [...text].flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ])
      await act([{ type: 'key', id: 'keys', actions: keys }])
    },
    async see(text) {
      const isSeen = `document.body.innerText.includes(${JSON.stringify(text)})`
      await until(`the text ${text}`, async () => (await evaluate(isSeen)).value === true)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
      folder[Symbol.dispose]()
    },
  }
}

async function findAddress(stderr: ReadableStream<Uint8Array>): Promise<string> {
  for await (const line of readLines(stderr)) {
    const address = /BiDi listening on (ws:\S+)/.exec(line)?.[1]
    if (address) return address
  }
  throw new Error('Firefox ended before it listened')
}

type Send = (method: string, params: Record<string, unknown>) => Promise<unknown>

async function connect(address: string): Promise<Send> {
  const socket = new WebSocket(`${address}/session`)
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  socket.addEventListener('message', ({ data }) => {
    const { id, type, result, message } = Answer.parse(JSON.parse(String(data)))
    const asked = id === undefined ? undefined : waiting.get(id)
    if (type === 'error') asked?.reject(new Error(message))
    else asked?.resolve(result)
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  let last = 0
  return (method, params) =>
    new Promise((resolve, reject) => {
      last += 1
      waiting.set(last, { resolve, reject })
      socket.send(JSON.stringify({ id: last, method, params }))
    })
}
