import { spareTurn } from '../../../core/concurrency/timing.ts'
import { createJsonMeter, isTooMuch, parseBoundedJson } from '../../../core/json/bounded-json.ts'
import { TooMuch } from '../body.ts'

const MAX_JSON_BYTES = 1024 * 1024
const CHUNKS_A_TURN = 50
/** Smaller bodies of a declared length are read at once, which costs half as much. */
const MAX_WHOLE_BYTES = 256 * 1024

const utf8 = new TextDecoder()

/**
 * Returns the body as text.
 * @throws TooMuch above `maxBytes`, and for JSON with more than `maxValues` values or 500 levels of nesting.
 */
export async function readText(response: Response, maxBytes: number, maxValues?: number): Promise<string> {
  const measure = maxValues === undefined ? null : createJsonMeter()
  if (isShort(response, maxBytes)) {
    const whole = new Uint8Array(await response.arrayBuffer())
    if (measure && isTooMuch(measure(whole), maxValues)) throw new TooMuch(`more than ${maxValues} values of JSON`)
    return utf8.decode(whole)
  }
  // Separate chunks of one byte would take a hundred times their size in memory.
  const sink = new Bun.ArrayBufferSink()
  sink.start({ asUint8Array: true })
  let [bytes, count] = [0, 0]
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new TooMuch(`more than ${maxBytes} bytes`)
    if (measure && isTooMuch(measure(chunk), maxValues)) throw new TooMuch(`more than ${maxValues} values of JSON`)
    sink.write(chunk)
    if (++count % CHUNKS_A_TURN === 0) await spareTurn()
  }
  return utf8.decode(sink.end())
}

/** A decoded body may be longer than its declared length. */
function isShort({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get('content-length')
  if (length === null || headers.has('content-encoding')) return false
  return Number(length) <= Math.min(MAX_WHOLE_BYTES, maxBytes)
}

/** @throws TooMuch above 1 MB, SyntaxError for invalid JSON. */
export async function readJson(response: Response): Promise<unknown> {
  return parseBoundedJson(await readText(response, MAX_JSON_BYTES))
}
