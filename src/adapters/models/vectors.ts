import { spareTurn } from '../../core/concurrency/timing.ts'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'

/** Characters parsed before the event loop runs other work. */
const PIECE_CHARACTERS = 256 * 1024
/** Limits one vector to about 60,000 numbers; published models have at most 4,000. */
const MAX_VECTOR_CHARACTERS = 1024 * 1024
/** Limit for everything except the vectors. */
const MAX_OTHER_CHARACTERS = 4 * 1024 * 1024
const MAX_OTHER_VALUES = 100_000
const KEY = '"embedding"'
/** Matches the value after the key: a list or a string. Inside a string the key's quotes would be escaped. */
const OPENING = /\s{0,64}:\s{0,64}(["[])/y

/**
 * Parses an embedding response with each vector cut to its first number, because parsing 40 MB at once would block the
 * event loop; every vector is still validated.
 * @throws SyntaxError
 */
export async function parseVectors(json: string): Promise<unknown> {
  const others: string[] = []
  let [from, rested, characters] = [0, 0, 0]
  const keep = (other: string) => {
    characters += other.length
    if (characters > MAX_OTHER_CHARACTERS) throw new SyntaxError('The answer says too much beside its vectors')
    others.push(other)
  }
  for (let key = json.indexOf(KEY); key !== -1; key = json.indexOf(KEY, from)) {
    OPENING.lastIndex = key + KEY.length
    const opening = OPENING.exec(json)?.[1]
    const start = OPENING.lastIndex - 1
    const end = opening === undefined ? key + KEY.length : json.indexOf(opening === '[' ? ']' : '"', start + 1) + 1
    if (end === 0) throw new SyntaxError('A vector has no end')
    keep(json.slice(from, opening === undefined ? end : start))
    if (opening !== undefined) keep(shorten(json.slice(start, end)))
    from = end
    if (from - rested < PIECE_CHARACTERS) continue
    rested = from
    await spareTurn()
  }
  keep(json.slice(from))
  return parseBoundedJson(others.join(''), MAX_OTHER_VALUES)
}

function shorten(json: string): string {
  if (json.length > MAX_VECTOR_CHARACTERS) throw new SyntaxError('A vector is too long')
  const vector: unknown = JSON.parse(json)
  return JSON.stringify(Array.isArray(vector) ? vector.slice(0, 1) : '')
}
