import { spareTurn } from '../../core/concurrency/spare-turn.ts'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'

/** So much is read in one turn of the event loop. */
const PIECE_CHARACTERS = 256 * 1024
/** Sixty thousand numbers; the longest vectors that are sold have four thousand. What is read in one piece needs an end. */
const MAX_VECTOR_CHARACTERS = 1024 * 1024
/** What stands beside the vectors: a thousandth of them, whoever answers. */
const MAX_OTHER_CHARACTERS = 4 * 1024 * 1024
const MAX_OTHER_VALUES = 100_000
const KEY = '"embedding"'
/** A list of numbers, or a text. Within a text the quotes of the key would be escaped: it stands only where it is one. */
const OPENING = /\s{0,64}:\s{0,64}(["[])/y

/**
 * The JSON of an answer with vectors, each of them cut to its first number: two thousand of them are forty megabytes, which
 * would hold everybody up in one piece. Every vector is read whole all the same. @throws SyntaxError
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
