const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c

/**
 * The keys of a JSON object in its text, in their order and as often as they stand there: parsers keep the last of equal
 * ones, and others keep another. What lies deeper is passed over, strings at the speed of a search. `json` must be the
 * text of an object that a parser has accepted.
 */
export function listTopLevelKeys(json: string): string[] {
  const keys: string[] = []
  let depth = 0
  let isKeyNext = false
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (code === QUOTE) {
      const end = findStringEnd(json, index + 1)
      if (isKeyNext) keys.push(readString(json, index, end))
      isKeyNext = false
      index = end
    } else if (code === 0x7b || code === 0x5b) {
      depth++
      isKeyNext = depth === 1
    } else if (code === 0x7d || code === 0x5d) {
      depth--
    } else if (code === COMMA) {
      isKeyNext = depth === 1
    }
  }
  return keys
}

/** Where the string that begins at `from` ends: at its first quote that no odd number of backslashes stands before. */
function findStringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return json.length
}

function readString(json: string, start: number, end: number): string {
  const raw = json.slice(start + 1, end)
  return raw.includes('\\') ? JSON.parse(`"${raw}"`) : raw
}
